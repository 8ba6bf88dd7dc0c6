import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** How long a file must have stayed the same before it is read. */
const STILL_MS = 1000
const TIMEOUT_MS = 5000
const POLL_MS = 100

/**
 * Waits until the files have not changed for a second, so that no half-written secret is read. Returns the names of those
 * that still change after five seconds. A missing file counts as unchanged.
 */
export async function waitForStableFiles(
  files: readonly { readonly name: string; readonly path: string }[],
  { stillMs = STILL_MS, timeoutMs = TIMEOUT_MS } = {},
): Promise<readonly string[]> {
  const beganMs = performance.now()
  const states = files.map(({ path }) => ({ path, seen: identify(path), sinceMs: changedAtMs(path) }))
  for (;;) {
    const nowMs = performance.now()
    for (const state of states) {
      const seen = identify(state.path)
      if (seen === state.seen) continue
      state.seen = seen
      state.sinceMs = nowMs
    }
    const changing = files.filter((_, at) => nowMs - (states[at]?.sinceMs ?? 0) < stillMs)
    if (changing.length === 0) return []
    if (nowMs - beganMs > timeoutMs) return changing.map(({ name }) => name)
    await sleep(POLL_MS)
  }
}

/** When the file was last changed, by the monotonic clock; now at the latest, whatever its time says. */
function changedAtMs(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return Number.NEGATIVE_INFINITY
  return performance.now() - Math.max(0, Date.now() - stats.mtimeMs)
}

function identify(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`
}
