/** Creates identifiers. */
export interface Ids {
  /** Returns a new UUID. */
  next(): string
}
