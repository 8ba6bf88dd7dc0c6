import { setTimeout as sleep } from 'node:timers/promises'

/** The time limit, in milliseconds. */
const TIMEOUT_MS = 60_000

/** Waits until a condition holds. The default limit suits a busy machine. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = TIMEOUT_MS): Promise<void> {
  for (const endMs = performance.now() + timeoutMs; !(await holds()); await sleep(5))
    if (performance.now() > endMs) throw new Error(`It never came: ${holds}`)
}
