import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AddressTaken, EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import { launch, START_TIMEOUT_MS } from './launch.ts'
import { findPostmaster, lastPort, type Postmaster } from './postmaster.ts'
import { acceptsConnections, freePort, SOCKET_NAME, socketFolder } from './server-address.ts'
import type { Place, ServerPlan } from './server-plan.ts'
import { killOrphans, waitUntilGone } from './server-processes.ts'

/**
 * Returns the running server. Waits while a server starts or stops, and starts one if there is none: at `only`, or at any
 * free address if that is null. The caller must hold the folder's start lock.
 */
export async function ensureServer(
  plan: ServerPlan,
  only: Place | null,
  signal: AbortSignal,
): Promise<Postmaster> {
  const deadline = performance.now() + START_TIMEOUT_MS
  while (performance.now() < deadline) {
    const found = findPostmaster(plan.folder.cluster)
    if (found?.status === 'ready') return found
    if (found === undefined) {
      await startServer(plan, only, signal)
    } else if (found.status === 'stopping') {
      await waitUntilGone(plan.folder.cluster, found.pid, 250)
    }
    await sleep(10, undefined, { signal })
  }
  throw new EmbeddedPostgresRefused(
    `The embedded PostgreSQL in ${plan.folder.path} is not ready after 60 s; see ${plan.folder.log}.`,
  )
}

async function startServer(plan: ServerPlan, only: Place | null, signal: AbortSignal): Promise<void> {
  const { cluster } = plan.folder
  await killOrphans(cluster)
  if (await acceptsConnections(plan.host, cluster)) {
    throw new EmbeddedPostgresRefused(
      `The data folder ${plan.folder.path} is in use by a server that this process cannot see, in another ` +
        'container perhaps. Stop it, or set DATA_DIR to another folder.',
    )
  }
  const before = lastPort(cluster)
  for (const name of ['postmaster.pid', SOCKET_NAME, `${SOCKET_NAME}.lock`]) {
    rmSync(join(cluster, name), { force: true })
  }
  signal.throwIfAborted()
  let failure = ''
  for (const { port } of only === null ? await places(plan, before) : [only]) {
    failure = await launch(plan, port, signal)
    if (failure === '') return
    if (!failure.includes('socket')) break
  }
  const message = `The embedded PostgreSQL in ${plan.folder.path} does not start: ${failure}. See ${plan.folder.log}.`
  throw failure.includes('socket') ? new AddressTaken(message) : new EmbeddedPostgresRefused(message)
}

/** The file system may not support sockets, and the port may be in use; then another port is tried. */
async function places(
  { host, folder }: ServerPlan,
  portBefore: number | undefined,
): Promise<readonly Place[]> {
  const onSocket = socketFolder(host, folder.cluster) !== undefined
  const first = onSocket ? undefined : (portBefore ?? (await freePort()))
  return [{ port: first }, { port: await freePort() }]
}
