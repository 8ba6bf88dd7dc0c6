/** Creates identifiers. */
export interface Ids {
  /** Returns a new UUID, different in every call. Neither throws nor waits. */
  next(): string
}
