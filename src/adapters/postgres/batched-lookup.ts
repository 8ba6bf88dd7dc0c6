/** A lookup of one key; null when it is not found. Rejects with the error of its batch. */
export type Find<Found> = (key: string, timeoutMs: number) => Promise<Found | null>

/** Looks up several keys within `timeoutMs` milliseconds. The result contains only the keys that were found. */
export type FindMany<Found> = (
  keys: readonly string[],
  timeoutMs: number,
) => Promise<ReadonlyMap<string, () => Found>>

interface Waiting<Found> {
  readonly key: string
  readonly resolve: (found: Found | null) => void
  readonly reject: (error: unknown) => void
}

/**
 * Batches the lookups of one turn of the event loop, at most `maxKeys` in a batch. A lookup that is alone in its turn is
 * sent without delay.
 */
export function batchedLookup<Found>(findMany: FindMany<Found>, maxKeys: number): Find<Found> {
  let gathering: Waiting<Found>[] = []
  let batchTimeoutMs = 0

  return function find(key, timeoutMs) {
    // A batch has one timeout, so each lookup gets exactly its own.
    if (gathering.length === maxKeys || timeoutMs !== batchTimeoutMs) send()
    batchTimeoutMs = timeoutMs
    return new Promise((resolve, reject) => {
      gathering.push({ key, resolve, reject })
      if (gathering.length === 1) setImmediate(send)
    })
  }

  function send(): void {
    const batch = gathering
    if (batch.length === 0) return
    gathering = []
    findMany(
      batch.map(({ key }) => key),
      batchTimeoutMs,
    ).then(
      (found) => {
        for (const { key, resolve, reject } of batch) {
          try {
            resolve(found.get(key)?.() ?? null)
          } catch (error) {
            // One unreadable row does not affect the other lookups.
            reject(error)
          }
        }
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error)
      },
    )
  }
}
