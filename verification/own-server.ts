import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Host, thisHost } from '../src/adapters/embedded-postgres/host.ts'
import { openEmbeddedPostgres } from '../src/adapters/embedded-postgres/open-embedded-postgres.ts'
import { sqlOn, type TestDatabase } from '../tests/support/database.ts'
import type { Trial } from './row.ts'

/** A PostgreSQL server of one row, which the row may kill, freeze and fill. */
export interface OwnServer {
  /** Its database `latchkey`, empty at first. */
  readonly database: TestDatabase
  /** The URL of another database on this server. */
  serverUrl(database: string): string
  /** The process ids of the postmaster and of all its children. */
  processes(): { readonly postmaster: number; readonly children: readonly number[] }
}

/** Starts a server on a new data folder, supervised like the service's embedded one, and stops it afterwards. */
export async function withOwnServer(trial: Trial, use: (server: OwnServer) => Promise<void>): Promise<void> {
  const dataDir = await freshDataDir(trial)
  const options = { dataDir, home: trial.sharedFolder, role: 'service' } as const
  const server = await openEmbeddedPostgres(options, hostOf(trial))
  try {
    await use(ownServer(server.url, join(dataDir, 'postgres')))
  } finally {
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Returns the server of a URL whose data folder is `cluster`. */
export function ownServer(url: string, cluster: string): OwnServer {
  return {
    database: databaseAt(url),
    serverUrl(database) {
      const other = new URL(url)
      other.pathname = `/${database}`
      return other.href
    },
    processes: () => processesOf(cluster),
  }
}

/** A database that is removed together with its server. */
export function databaseAt(url: string): TestDatabase {
  return {
    url,
    env: { DATABASE_URL: url },
    sql: (text, values) => sqlOn(url, text, values),
    drop: async () => {},
  }
}

/** Creates a data folder. It copies the one that the first row of a run creates, since that takes seconds. */
export async function freshDataDir(trial: Pick<Trial, 'folder' | 'sharedFolder'>): Promise<string> {
  const { folder, sharedFolder } = trial
  const whole = join(sharedFolder, 'data')
  if (!existsSync(whole)) {
    const dataDir = join(folder, 'draft')
    const made = await openEmbeddedPostgres({ dataDir, home: sharedFolder, role: 'command' }, hostOf(trial))
    await made.close()
    try {
      renameSync(dataDir, whole)
    } catch (error) {
      // Another row that runs beside this one was first.
      if (!existsSync(whole)) throw error
    }
  }
  const dataDir = join(folder, randomBytes(4).toString('hex'))
  execFileSync('cp', ['-a', whole, dataDir])
  return dataDir
}

/** Returns this machine as a host. Programs that have to be copied stay in the run's folders. */
export function hostOf({ sharedFolder }: Pick<Trial, 'sharedFolder'>): Host {
  return { ...thisHost(), stateRoot: sharedFolder }
}

function processesOf(cluster: string): { postmaster: number; children: readonly number[] } {
  const postmaster = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0])
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === postmaster)
    .map(Number)
  return { postmaster, children }
}

function parentOf(pid: string): number | null {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return null
  }
}
