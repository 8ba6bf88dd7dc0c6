/** A bounded cache within this process. No method throws: a full cache evicts entries. */
export interface Cache<Value> {
  /** Returns the cached value, or undefined when the key has none or its entry has expired. */
  get(key: string): Value | undefined
  /**
   * Stores the value itself, not a copy, for at most `ttlMs` milliseconds. Replaces an earlier value of the key. If `ttlMs`
   * is not above 0, it only removes the earlier value.
   */
  set(key: string, value: Value, ttlMs: number): void
  /** Removes the entry of the key; does nothing when there is none. */
  delete(key: string): void
  /** Removes every entry, without calling the listener of `onRemoved`. */
  clear(): void
  /** Calls `removed` for each value that is deleted, expired, evicted or replaced; not for `clear`. A later call replaces the listener. */
  onRemoved(removed: (key: string, value: Value) => void): void
}
