import { createSignalCounter } from '../adapters/cli/signal-counter.ts'
import type { Log } from '../application/ports/log.ts'
import { isClosedTerminal, terminals } from './terminals.ts'

/** A signal that stops a service; SIGHUP only when the terminal that started it was closed. */
export type EndingSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** The signals of a service. */
export interface Signals {
  /** Resolves with the first signal that stops the service. */
  readonly end: Promise<EndingSignal>
  /** Call once the service has started: each SIGHUP, earlier ones included, reloads the settings, one after the other. */
  reloadBy(reload: () => Promise<void>): void
  /** Registers a callback that runs just before a second signal ends the process immediately. */
  beforeSecond(kill: () => void): void
}

/** How long startup may continue after a signal. */
const START_MS = 10_000

/**
 * Starts to listen. The first SIGTERM or SIGINT stops the service; a second one ends the process immediately, unless it only
 * repeats the first (see `createSignalCounter`). SIGHUP reloads the settings, or stops the service if the terminal was
 * closed; it is ignored while the service stops.
 */
export function listenToSignals(log: Log): Signals {
  const startedFrom = terminals()
  let began = (_reload: () => Promise<void>) => {}
  let reloaded = new Promise<() => Promise<void>>((resolve) => {
    began = resolve
  })
  const count = createSignalCounter()
  let isEnding = false
  let isStarted = false
  let kill = () => {}
  const end = new Promise<EndingSignal>((resolve) => {
    const endBy = (name: EndingSignal) => {
      const counted = count(name)
      if (counted === 'second') endAtOnce(name)
      if (counted !== 'first') return
      isEnding = true
      // Startup may wait forever. If it completes in time, the service stops in order.
      if (!isStarted) setTimeout(() => isStarted || endAtOnce(name), START_MS).unref()
      resolve(name)
    }
    process.on('SIGTERM', endBy).on('SIGINT', endBy)
    process.on('SIGHUP', () => {
      if (isEnding) return
      if (startedFrom.some(isClosedTerminal)) return endBy('SIGHUP')
      reloaded = reloaded.then(async (reload) => {
        await reload()
        return reload
      })
    })
  })

  return {
    end,
    reloadBy(reload) {
      isStarted = true
      began(reload)
    },
    beforeSecond(before) {
      kill = before
    },
  }

  function endAtOnce(name: EndingSignal): void {
    log.warn('service.ended_at_once', { signal: name })
    kill()
    process.exit(1)
  }
}

/** Waits for the signal that stops a service. If the database is lost before that, cleans up and rejects. */
export async function endingSignal(
  { end }: Pick<Signals, 'end'>,
  { lost }: { readonly lost?: Promise<never> },
  cleanUp: () => Promise<void>,
): Promise<EndingSignal> {
  try {
    return await (lost === undefined ? end : Promise.race([end, lost]))
  } catch (error) {
    await cleanUp()
    throw error
  }
}
