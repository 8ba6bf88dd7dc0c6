import { setTimeout as sleep } from 'node:timers/promises'

/** For what is only a question of time. */
const TIMEOUT_MS = 60_000

/** Waits until something holds, for as long as a busy machine may need. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + TIMEOUT_MS; !(await holds()); await sleep(5))
    if (performance.now() > endMs) throw new Error(`It never came: ${holds}`)
}
