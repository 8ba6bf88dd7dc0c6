import { isatty } from 'node:tty'
import type { Log } from './application/ports/log.ts'

/** A signal that ends a service; SIGHUP where the terminal that it was started from is gone. */
export type EndingSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** What the signals of a service ask for. */
export interface Signals {
  /** The first that ends it. */
  readonly end: Promise<EndingSignal>
  /** Of a service that is started: reads the settings anew at each SIGHUP, one after the other, the earlier ones too. */
  reloadBy(reload: () => Promise<void>): void
  /** Does this before a second signal, whichever it is, ends the process at once. */
  beforeSecond(kill: () => void): void
}

/** So long a start may go on that was told to end. */
const START_MS = 10_000

/** Listens from now on: the first signal asks for the end, and a second one ends the process at once. */
export function listenToSignals(log: Log): Signals {
  const terminals = [0, 1, 2].filter((fd) => isatty(fd))
  let began = (_reload: () => Promise<void>) => {}
  let reloaded = new Promise<() => Promise<void>>((resolve) => {
    began = resolve
  })
  let isEnding = false
  let isStarted = false
  let kill = () => {}
  const end = new Promise<EndingSignal>((resolve) => {
    const endBy = (name: EndingSignal) => {
      if (isEnding) return endAtOnce(name)
      isEnding = true
      // A start may wait for what never comes; one that goes on is ended in order once it is done.
      if (!isStarted) setTimeout(() => isStarted || endAtOnce(name), START_MS).unref()
      resolve(name)
    }
    process.on('SIGTERM', endBy).on('SIGINT', endBy)
    process.on('SIGHUP', () => {
      // A terminal that was closed takes its programs with it, and is none any more.
      if (isEnding || terminals.some((fd) => !isatty(fd))) return endBy('SIGHUP')
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
    beforeSecond(first) {
      kill = first
    },
  }

  function endAtOnce(name: EndingSignal): void {
    log.warn('service.ended_at_once', { signal: name })
    kill()
    process.exit(1)
  }
}

/** The signal that ends a service; where its database is lost for good before that, cleans up and rejects. */
export async function endOf(
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
