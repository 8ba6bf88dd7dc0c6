const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The error with which interrupted work rejects. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/**
 * Runs work that can stop between two of its steps. The first SIGINT, SIGTERM or SIGHUP aborts the work, which then
 * rejects with `Interrupted`. A second signal ends the process at once.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController()
  function interrupt(): void {
    stopListening()
    interruption.abort(new Interrupted())
  }
  function stopListening(): void {
    for (const name of SIGNALS) process.off(name, interrupt)
  }
  for (const name of SIGNALS) process.on(name, interrupt)
  try {
    return await work(interruption.signal)
  } finally {
    stopListening()
  }
}
