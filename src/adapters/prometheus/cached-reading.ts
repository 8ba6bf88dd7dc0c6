const EVERY_MS = 60_000

/**
 * Returns a function that resolves with the last value read, and reads again at most once a minute, however often it is
 * called. Only callers before the first value wait. Resolves with null while reading fails.
 */
export function cachedReading(
  read: () => Promise<number>,
  monotonicMs: () => number,
): () => Promise<number | null> {
  let last: number | null = null
  let first: Promise<void> | null = null
  let dueMs = Number.NEGATIVE_INFINITY

  return async function latest() {
    const nowMs = monotonicMs()
    if (nowMs >= dueMs) {
      dueMs = nowMs + EVERY_MS
      const reading = refresh()
      first ??= reading
    }
    await first
    return last
  }

  async function refresh(): Promise<void> {
    last = await read().catch(() => null)
  }
}
