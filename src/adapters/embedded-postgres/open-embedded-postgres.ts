import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { prepareBinaries } from './binaries.ts'
import { type DataFolder, prepareDataFolder } from './data-folder.ts'
import { EmbeddedPostgresRefused, toRefusal } from './embedded-postgres-refused.ts'
import { type Host, stateFolder, thisHost } from './host.ts'
import { findPostmaster, stopPostmaster } from './postmaster.ts'
import { type ProcessLock, tryLock, waitForLock } from './process-lock.ts'
import { type Reached, reachServer } from './reach-server.ts'
import { connectionUrl, openSession, type Session } from './session.ts'
import type { ServerPlan } from './start-server.ts'
import { type OnEvent, supervise } from './supervise.ts'

/** An embedded PostgreSQL server that runs while this is open. */
export interface EmbeddedPostgres {
  /** Connection URL of the database `latchkey`, password included: a secret. */
  readonly url: string
  /** The folder in use, as an absolute path. */
  readonly dataDir: string
  /** True when this call created the database cluster. */
  readonly created: boolean
  /** Sentences that the operator should read at the start. */
  readonly notes: readonly string[]
  /** Rejects when a service's server died and could not be restarted at its `url`; otherwise never settles. */
  readonly lost: Promise<never>
  /** Stops the server as far as the role requires, within 2.5 s. May be called again. */
  close(): Promise<void>
}

/** The options of an embedded PostgreSQL. */
export interface EmbeddedPostgresOptions {
  /** Undefined means `data` in `home`, which may be relocated for root. A given folder is never relocated. */
  readonly dataDir: string | undefined
  readonly home: string
  /** A service owns the folder, supervises the server and stops it; commands share it. */
  readonly role: 'service' | 'command'
  readonly onEvent?: OnEvent
}

/**
 * Opens the embedded PostgreSQL of a data folder: creates, starts or adopts the server as needed. Throws
 * `EmbeddedPostgresRefused` with one line for the operator.
 */
export async function openEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
  host: Host = thisHost(),
): Promise<EmbeddedPostgres> {
  const notes: string[] = []
  const note = (sentence: string) => notes.push(sentence)
  const home = realpathSync(options.home)
  let dataDir = resolve(home, options.dataDir ?? 'data')
  let serviceLock: ProcessLock | undefined
  try {
    const folder = prepareDataFolder(host, options.dataDir, home, note)
    dataDir = folder.path
    // Creating takes about a second, in which the caller can prepare what an empty database needs.
    if (!existsSync(folder.cluster)) options.onEvent?.('embedded_postgres.creating', {})
    if (options.role === 'service') serviceLock = await lockForService(folder)
    const copyRoot = host.uid === 0 ? stateFolder(host, home) : folder.path
    const binaries = prepareBinaries(host, folder.account, copyRoot, note)
    const plan: ServerPlan = { host, folder, binaries, startedBy: options.role }
    const reached = await reachServer(plan, null, new AbortController().signal)
    const open =
      options.role === 'service'
        ? openForService(plan, reached, serviceLock, options.onEvent ?? (() => {}))
        : openForCommand(plan, reached)
    let closing: Promise<void> | undefined
    return {
      url: open.url,
      lost: open.lost,
      dataDir,
      created: reached.created,
      notes,
      close() {
        closing ??= open.close()
        return closing
      },
    }
  } catch (error) {
    await serviceLock?.release()
    throw toRefusal(error, dataDir)
  }
}

interface Open {
  readonly url: string
  readonly lost: Promise<never>
  close(): Promise<void>
}

async function lockForService(folder: DataFolder): Promise<ProcessLock> {
  const lock = await tryLock(folder.path, 'service', folder.password)
  if (lock !== undefined) return lock
  throw new EmbeddedPostgresRefused(
    `Another Latchkey service uses the data folder ${folder.path}. Stop it, or set DATA_DIR to another folder.`,
  )
}

function openForService(
  plan: ServerPlan,
  reached: Reached,
  lock: ProcessLock | undefined,
  onEvent: OnEvent,
): Open {
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

function openForCommand({ folder }: ServerPlan, { address, session }: Reached): Open {
  return {
    url: connectionUrl(address),
    lost: new Promise<never>(() => {}),
    async close() {
      const lock = await waitForLock(folder.path, 'start', folder.password, 500)
      try {
        // The holder of the lock is opening the server and stops it when it closes.
        if (lock === undefined || findPostmaster(folder.cluster) === undefined) return
        const current = session.isOpen() ? session : await openSession(address)
        const last = await isLastOfCommands(current)
        // Ended under the lock, so that the next process to close does not count this session.
        await current.end()
        if (last) await stopPostmaster(folder.cluster)
      } catch {
        // A server that does not respond is left to the service, or to the next start.
      } finally {
        await session.end()
        await lock?.release()
      }
    },
  }
}

/**
 * Returns whether no other process needs the server. Another session stops the server when it closes. A client without a
 * session may have just disconnected, and is listed for some more milliseconds.
 */
async function isLastOfCommands(session: Session): Promise<boolean> {
  if (!(await session.startedByCommand())) return false
  for (let attempt = 0; attempt < 15; attempt += 1) {
    const { sessions, clients } = await session.others()
    if (sessions > 0) return false
    if (clients === 0) return true
    await sleep(20)
  }
  return false
}
