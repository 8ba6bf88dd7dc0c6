import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, type QueryResultRow } from 'pg'
import { openEmbeddedPostgres } from '../../src/adapters/embedded-postgres/open-embedded-postgres.ts'
import { migrate } from '../../src/adapters/postgres/migrations.ts'
import type { TestDatabase } from '../support/database.ts'

/** A PostgreSQL server of one row's own, which may be killed, frozen and filled. */
export interface OwnServer {
  readonly database: TestDatabase
  /** The same server's database of another name. */
  urlOf(database: string): string
  /** The postmaster's id, and those of all its children. */
  processes(): { readonly postmaster: number; readonly children: readonly number[] }
}

/** Lends a server on a fresh folder, supervised as the service's own is, and removes it afterwards. */
export async function withOwnServer(use: (server: OwnServer) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'latchkey-prove-'))
  // The account that runs the server has to pass through.
  chmodSync(home, 0o755)
  const dataDir = join(home, 'data')
  try {
    const server = await openEmbeddedPostgres({ dataDir, home, role: 'service' })
    try {
      await migrate({ url: server.url })
      await use({
        database: {
          url: server.url,
          sql: (text, values) => sqlOn(server.url, text, values),
          drop: async () => {},
        },
        urlOf(database) {
          const url = new URL(server.url)
          url.pathname = `/${database}`
          return url.href
        },
        processes: () => processesOf(dataDir),
      })
    } finally {
      await server.close()
    }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

async function sqlOn<Row extends QueryResultRow>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: 'prove',
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(text, [...values])).rows
  } finally {
    await client.end()
  }
}

function processesOf(dataDir: string): { postmaster: number; children: readonly number[] } {
  const postmaster = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
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
