const EVERY_MS = 60_000

/**
 * Answers what was read last, and reads anew at most once a minute, whoever asks; only the first asker waits. Null for as
 * long as reading fails.
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
