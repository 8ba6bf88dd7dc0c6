import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerAddress } from './connection-url.ts'
import { EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import { ensureCluster } from './ensure-cluster.ts'
import { findPostmaster, stopPostmaster } from './postmaster.ts'
import { waitForLock } from './process-lock.ts'
import { socketFolder } from './server-address.ts'
import type { Place, ServerPlan } from './server-plan.ts'
import { openSession, type ServerSession } from './session.ts'
import { ensureServer } from './start-server.ts'

/** A running server, and the session that prevents other processes from stopping it. */
export interface Reached {
  readonly address: ServerAddress
  readonly session: ServerSession
  readonly created: boolean
  /** Whether the server ran already. */
  readonly wasRunning: boolean
}

const LOCK_TIMEOUT_MS = 90_000
const RESPONSE_TIMEOUT_MS = 15_000

/**
 * Creates the cluster, starts the server and opens a session, each only if necessary. One process at a time does this
 * for a folder. It may be called again after the server died; `only` is then the address at which the server must listen.
 */
export async function reachServer(
  plan: ServerPlan,
  only: Place | null,
  signal: AbortSignal,
): Promise<Reached> {
  const { path, cluster, password } = plan.folder
  const lock = await waitForLock(path, 'start', password, LOCK_TIMEOUT_MS, signal)
  if (lock === undefined) {
    throw new EmbeddedPostgresRefused(
      `Another process has been starting the embedded PostgreSQL in ${path} for 90 s. End it and try again.`,
    )
  }
  const wasRunning = findPostmaster(cluster) !== undefined
  try {
    const created = await ensureCluster(plan.host, plan.folder, plan.binaries)
    return { created, wasRunning, ...(await ensureSession(plan, only, signal)) }
  } catch (error) {
    // No process would stop a server that was started in vain.
    if (!wasRunning) await stopPostmaster(cluster)
    throw error
  } finally {
    await lock.release()
  }
}

/** A server may stop between being found and being connected to, so the two are retried together. */
async function ensureSession(plan: ServerPlan, only: Place | null, signal: AbortSignal) {
  const { path, cluster, password } = plan.folder
  const deadline = performance.now() + RESPONSE_TIMEOUT_MS
  for (;;) {
    const { port } = await ensureServer(plan, only, signal)
    const host = port === undefined ? socketFolder(plan.host, cluster) : '127.0.0.1'
    const address = { host: host ?? cluster, port: port ?? 5432, password }
    try {
      return { address, session: await openSession(address) }
    } catch (error) {
      if ((error as { code?: string }).code === INVALID_PASSWORD) {
        throw new EmbeddedPostgresRefused(
          `The password in ${path} is not the password of its database. Restore the right password file.`,
        )
      }
      if (performance.now() > deadline) {
        throw new EmbeddedPostgresRefused(
          `The embedded PostgreSQL in ${path} does not respond: ${(error as Error).message}.`,
        )
      }
    }
    await sleep(20, undefined, { signal })
  }
}

const INVALID_PASSWORD = '28P01'
