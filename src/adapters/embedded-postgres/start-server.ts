import { spawn } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Binaries, cannotRun } from './binaries.ts'
import type { DataFolder } from './data-folder.ts'
import { AddressTaken, EmbeddedPostgresRefused } from './embedded-postgres-refused.ts'
import type { Host } from './host.ts'
import { findPostmaster, killOrphans, lastPort, type Postmaster, waitUntilGone } from './postmaster.ts'
import { acceptsConnections, freePort, SOCKET_NAME, socketFolder } from './server-address.ts'
import { accountIdentity, SERVER_ENV, serverArguments } from './server-arguments.ts'

/** The input for starting the server of a data folder. */
export interface ServerPlan {
  readonly host: Host
  readonly folder: DataFolder
  readonly binaries: Binaries
  readonly startedBy: 'service' | 'command'
}

/** Where a server listens: on a port of 127.0.0.1, or on a socket in its cluster's folder. */
export interface Place {
  readonly port: number | undefined
}

const START_TIMEOUT_MS = 60_000

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

/** Starts the server and waits until it is ready. Returns an empty text, or the reason of the failure. */
async function launch(plan: ServerPlan, port: number | undefined, signal: AbortSignal): Promise<string> {
  const { folder, host, binaries } = plan
  const log = openLog(folder.log)
  const child = spawn(binaries.postgres, serverArguments(folder.cluster, plan.startedBy, port), {
    cwd: folder.cluster,
    env: SERVER_ENV,
    stdio: ['ignore', log, log],
    // A separate process session, so that Ctrl-C in the terminal reaches the service only.
    detached: true,
    ...accountIdentity(folder),
  })
  closeSync(log)
  child.unref()
  let ended = false
  let failed: Error | undefined
  child.once('exit', () => {
    ended = true
  })
  child.once('error', (error) => {
    failed = cannotRun(host, binaries.postgres, error)
  })
  const deadline = performance.now() + START_TIMEOUT_MS
  let ready = false
  try {
    while (!ready && !ended && performance.now() < deadline) {
      await sleep(10, undefined, { signal })
      if (failed !== undefined) throw failed
      ready = findPostmaster(folder.cluster)?.status === 'ready'
    }
  } finally {
    if (!ready && !ended) child.kill('SIGQUIT')
  }
  if (ready) return ''
  return ended ? lastFailure(folder.log) : 'it is not ready after 60 s'
}

/** Each start begins a new log and keeps the previous one, so that there are never more than two. */
function openLog(path: string): number {
  try {
    renameSync(path, `${path}.1`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_APPEND, 0o600)
}

function lastFailure(log: string): string {
  const lines = readFileSync(log, 'utf8').split('\n')
  const line = lines.findLast((text) => /FATAL:|PANIC:/.test(text)) ?? lines.findLast((text) => text !== '')
  return line?.replace(/^.*(FATAL|PANIC):\s*/, '') ?? 'it ended without a message'
}
