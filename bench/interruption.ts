/** Aborted by a signal to the benchmark: what is loaded is let go, and everything that was started ends. */
export const interruption = new AbortController()
