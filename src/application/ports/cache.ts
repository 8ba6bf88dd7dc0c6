/** A bounded store of this process; a full one drops entries and never throws. */
export interface Cache<Value> {
  get(key: string): Value | undefined
  /** Keeps the value itself, not a copy, for at most `ttlMs`. */
  set(key: string, value: Value, ttlMs: number): void
  delete(key: string): void
  clear(): void
  /** Calls `removed` for each value that leaves: deleted, expired, evicted or replaced; not for `clear`. */
  onRemoved(removed: (key: string, value: Value) => void): void
}
