/** A wall clock, a monotonic clock and timers. */
export interface Clock {
  /** The wall clock, in milliseconds since the Unix epoch. */
  nowMs(): number
  /** Milliseconds since an arbitrary moment; never goes backwards. */
  monotonicMs(): number
  /** Calls once, no earlier than `ms` milliseconds from now on the monotonic clock. Returns a function that cancels the call. */
  after(ms: number, call: () => void): () => void
}
