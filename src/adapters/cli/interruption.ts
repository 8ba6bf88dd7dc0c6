import { createSignalCounter } from './signal-counter.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The error with which interrupted work rejects. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** The interruption of a command by a signal. */
export interface Interruption {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal
  /** Handles signals no longer. */
  end(): void
}

/**
 * Listens until `end`. The first SIGINT, SIGTERM or SIGHUP aborts; the same signal within 500 ms is a repeat of it (see
 * `createSignalCounter`). A second signal ends the process at once.
 */
export function listenForInterruption(): Interruption {
  const interruption = new AbortController()
  const count = createSignalCounter()
  function interrupt(signal: NodeJS.Signals): void {
    interruption.abort(new Interrupted())
    if (count(signal) !== 'second') return
    end()
    process.kill(process.pid, signal)
  }
  function end(): void {
    for (const name of SIGNALS) process.off(name, interrupt)
  }
  for (const name of SIGNALS) process.on(name, interrupt)
  return { signal: interruption.signal, end }
}

/** Runs work that can stop between two of its steps. Once interrupted, it rejects with `Interrupted`. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = listenForInterruption()
  try {
    return await work(interruption.signal)
  } finally {
    interruption.end()
  }
}
