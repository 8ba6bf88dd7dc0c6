export interface Clock {
  /** The wall clock, milliseconds since the Unix epoch. */
  nowMs(): number
  /** Milliseconds from an arbitrary start, never backwards. */
  monotonicMs(): number
  /** Calls once, so many milliseconds later on the monotonic clock or after that, never before; answers how to call it off. */
  after(ms: number, call: () => void): () => void
}

export interface Ids {
  /** A new UUID. */
  next(): string
}
