import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { prepareBinaries } from './binaries.ts'
import { openForCommand } from './command-server.ts'
import { prepareDataFolder } from './data-folder.ts'
import { toRefusal } from './embedded-postgres-refused.ts'
import { type Host, stateFolder, thisHost } from './host.ts'
import type { ProcessLock } from './linked-lock.ts'
import { reachServer } from './reach-server.ts'
import type { ServerPlan } from './server-plan.ts'
import { lockForService, openForService } from './service-server.ts'
import type { OnEvent } from './supervise.ts'

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

/** The location of the embedded PostgreSQL, and the role of its user. */
export interface EmbeddedPostgresOptions {
  /** Undefined means `data` in `home`, which may be relocated for root. A given folder is never relocated. */
  readonly dataDir: string | undefined
  /** The folder against which a relative `dataDir` is resolved. */
  readonly home: string
  /** A service owns the folder, supervises the server and stops it; commands share it. */
  readonly role: 'service' | 'command'
  /** Called for each event of the server, such as its restart. Default: none. */
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
    // This service holds the folder's lock, so the service that started the server has ended without stopping it.
    if (serviceLock !== undefined && reached.wasRunning && !(await reached.session.startedByCommand()))
      note(
        'The PostgreSQL of a service that was killed is still running; this service uses it, and stops it at its end.',
      )
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
    throw toRefusal(error, dataDir, host)
  }
}
