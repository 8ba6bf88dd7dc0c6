/** How long a repeat of the first signal counts as the first. */
const REPEAT_MS = 500

/** What a signal means to a process that ends in order at the first, and at once at the second. */
export type Counted = 'first' | 'repeat' | 'second'

/**
 * Counts the signals of a process. The same signal again within 500 ms is a repeat: npm and `timeout` forward what the
 * whole process group has received already.
 */
export function createSignalCounter(): (signal: string) => Counted {
  let first: string | null = null
  let mayRepeat = true
  return (signal) => {
    if (first !== null) return signal === first && mayRepeat ? 'repeat' : 'second'
    first = signal
    setTimeout(refuseRepeats, REPEAT_MS).unref()
    return 'first'
  }

  function refuseRepeats(): void {
    // Where the event loop was blocked, a repeat that came in time is read before this runs.
    setImmediate(() => {
      mayRepeat = false
    }).unref()
  }
}
