/** A look-up of one key; it throws what the look-up of many threw that took it along. */
export type Find<Found> = (key: string, timeoutMs: number) => Promise<Found | null>

/** Looks up several keys at once, within `waitMs`; a key that is not in the answer was not found. */
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
 * Gathers the look-ups of one turn of the event loop and sends them together, at most `most` at a time. One that is
 * alone in its turn waits for nobody.
 */
export function batchedLookup<Found>(findMany: FindMany<Found>, most: number): Find<Found> {
  let gathering: Waiting<Found>[] = []
  let graceMs = 0

  return function find(key, timeoutMs) {
    // Nobody waits for longer, or gets less, than was asked for.
    if (gathering.length === most || timeoutMs !== graceMs) send()
    graceMs = timeoutMs
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
      graceMs,
    ).then(
      (found) => {
        for (const { key, resolve, reject } of batch) {
          try {
            resolve(found.get(key)?.() ?? null)
          } catch (error) {
            // What cannot be read of one row is nothing to the others.
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
