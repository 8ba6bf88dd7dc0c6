import { isatty } from 'node:tty'
import type { Log } from './application/ports/log.ts'

/** A signal that ends a service; SIGHUP where the terminal that it was started from is gone. */
export type EndingSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP'

/** What the signals of a service ask for. */
export interface Signals {
  /** The first that ends it. */
  readonly end: Promise<EndingSignal>
  /** Reads the settings anew at each SIGHUP, one after the other; at one that came before this was called as well. */
  reloadBy(reload: () => Promise<void>): void
  /** Does this before a second signal, whichever it is, ends the process at once. */
  beforeSecond(kill: () => void): void
}

/** Listens from now on: the first signal asks for the end, and a second one ends the process at once. */
export function listenToSignals(log: Log): Signals {
  const terminals = [0, 1, 2].filter((fd) => isatty(fd))
  let began = (_reload: () => Promise<void>) => {}
  let reloaded = new Promise<() => Promise<void>>((resolve) => {
    began = resolve
  })
  let isEnding = false
  let kill = () => {}
  const end = new Promise<EndingSignal>((resolve) => {
    const endBy = (name: EndingSignal) => {
      if (!isEnding) {
        isEnding = true
        return resolve(name)
      }
      log.warn('service.ended_at_once', { signal: name })
      kill()
      process.exit(1)
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
    reloadBy: began,
    beforeSecond(first) {
      kill = first
    },
  }
}
