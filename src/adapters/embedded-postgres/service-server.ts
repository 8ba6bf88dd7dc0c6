import { setTimeout as sleep } from 'node:timers/promises'
import { connectionUrl } from './connection-url.ts'
import type { DataFolder } from './data-folder.ts'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import type { ProcessLock } from './linked-lock.ts'
import { stopPostmaster } from './postmaster.ts'
import { waitForLock } from './process-lock.ts'
import type { Reached } from './reach-server.ts'
import type { OpenServer, ServerPlan } from './server-plan.ts'
import { type OnEvent, supervise } from './supervise.ts'

/** A command holds the lock for a moment to find out whether a service runs. */
const PROBE_MS = 300

/** Locks the data folder, which one service uses at a time. Throws `EmbeddedPostgresRefused` if it is in use. */
export async function lockForService(folder: DataFolder): Promise<ProcessLock> {
  const lock = await waitForLock(folder.path, 'service', folder.password, PROBE_MS)
  if (lock !== undefined) return lock
  throw new EmbeddedPostgresRefused(
    `Another Latchkey service uses the data folder ${folder.path}. Stop it, or set DATA_DIR to another folder.`,
  )
}

/** Opens the server for a service, which supervises it and stops it. */
export function openForService(
  plan: ServerPlan,
  reached: Reached,
  lock: ProcessLock | undefined,
  onEvent: OnEvent,
): OpenServer {
  const supervision = supervise(plan, reached, onEvent)
  return {
    url: connectionUrl(reached.address),
    lost: supervision.lost,
    async close() {
      const ended = supervision.end()
      // A restart that waits for a frozen server ends only when that server does.
      await Promise.race([ended, sleep(200, undefined, { ref: false })])
      await stopPostmaster(plan.folder.cluster)
      await ended
      await supervision.session().end()
      await lock?.release()
    },
  }
}
