import { createSignalCounter } from '../adapters/cli/signal-counter.ts'
import type { Log } from '../application/ports/log.ts'
import { isClosedTerminal, terminals } from './terminals.ts'

/** A signal that ends a service; SIGHUP if the terminal that it was started from was closed. */
export type EndingSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** What the signals of a service ask for. */
export interface Signals {
  /** Resolves with the first signal that ends it. */
  readonly end: Promise<EndingSignal>
  /** Call once the service has started: each SIGHUP, earlier ones included, reloads the settings, one after the other. */
  reloadBy(reload: () => Promise<void>): void
  /** Runs just before a second signal ends the process at once. */
  beforeSecond(kill: () => void): void
}

/** How long a start may continue after a signal. */
const START_MS = 10_000

/**
 * Listens from now on. The first SIGTERM or SIGINT asks for the end; a second one ends the process at once, unless it only
 * repeats the first (see `createSignalCounter`). SIGHUP reloads the settings, or asks for the end if the terminal was
 * closed; it is ignored after a signal that asked for the end.
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
      // A start may wait for what never comes; one that continues is stopped in order when it is done.
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

/** The signal that ends a service; where its database is lost for good before that, cleans up and rejects. */
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
