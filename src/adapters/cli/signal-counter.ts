/** How long the first signal counts as a repeat when it is received again. */
const REPEAT_MS = 500

/** What a signal means to a process: `first` stops it gracefully, `second` at once, and `repeat` is ignored. */
export type SignalCount = 'first' | 'repeat' | 'second'

/**
 * Returns a function that counts the signals of a process. The same signal within 500 ms is a repeat: npm and `timeout`
 * forward a signal that the whole process group has received already.
 */
export function createSignalCounter(): (signal: string) => SignalCount {
  let first: string | null = null
  let mayRepeat = true
  return (signal) => {
    if (first !== null) return signal === first && mayRepeat ? 'repeat' : 'second'
    first = signal
    setTimeout(refuseRepeats, REPEAT_MS).unref()
    return 'first'
  }

  function refuseRepeats(): void {
    // If the event loop was blocked, this runs after signals that arrived in time have been read.
    setImmediate(() => {
      mayRepeat = false
    }).unref()
  }
}
