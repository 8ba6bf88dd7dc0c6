import type { Configuration } from './adapters/config/configuration.ts'
import { openEmbeddedPostgres } from './adapters/embedded-postgres/open-embedded-postgres.ts'
import { checkServer } from './adapters/postgres/check-server.ts'
import { DatabaseRefused } from './adapters/postgres/database-refused.ts'
import { loadRunner, migrate, pendingMigrations } from './adapters/postgres/migrations.ts'
import { type DatabasePool, openPool } from './adapters/postgres/pool.ts'
import type { Log } from './application/ports.ts'

/** The configured PostgreSQL, with the schema that this code needs. */
export interface Database {
  readonly pool: DatabasePool
  readonly url: string
  /** Of the same database, without a transaction pooler in between. */
  readonly directUrl: string
  /** The folder of the embedded PostgreSQL; null for a server of the operator's. */
  readonly dataDir: string | null
  /** Whether this opening made the schema: nobody has used the database before. */
  readonly fresh: boolean
  /** Sentences that the operator should read at the start. */
  readonly notes: readonly string[]
  close(): Promise<void>
}

/** Who opens the database: a service has the embedded one to itself, commands share it. */
export type Role = 'service' | 'command'

/** Opens the database and brings its schema up to date, or refuses an old one where `MIGRATE` is off. */
export async function openDatabase(configuration: Configuration, role: Role, log: Log): Promise<Database> {
  const server = await reachServer(configuration, role, log)
  try {
    for (const warning of await checkServer({ url: server.directUrl })) {
      log.warn('database.setting', { detail: warning })
    }
    const applied = await bringUpToDate(configuration, server.directUrl)
    for (const name of applied) log.info('database.migrated', { detail: name })
    const pool = openPool({
      url: server.url,
      max: configuration.poolMax,
      prepared: configuration.prepared,
      onEvent: ({ kind, detail }) => log.warn(`database.${kind}`, { detail }),
    })
    return {
      pool,
      url: server.url,
      directUrl: server.directUrl,
      dataDir: server.dataDir,
      fresh: applied.some((name) => name.startsWith('0001')),
      notes: server.notes,
      async close() {
        await pool.close()
        await server.close()
      },
    }
  } catch (error) {
    await server.close()
    throw error
  }
}

/** Lends the address of a direct connection to the configured server, whatever its schema. */
export async function withServer<T>(
  configuration: Configuration,
  log: Log,
  use: (directUrl: string) => Promise<T>,
): Promise<T> {
  const server = await reachServer(configuration, 'command', log)
  try {
    return await use(server.directUrl)
  } finally {
    await server.close()
  }
}

interface Server {
  readonly url: string
  readonly directUrl: string
  readonly dataDir: string | null
  readonly notes: readonly string[]
  close(): Promise<void>
}

async function reachServer(
  { databaseUrl, databaseDirectUrl, dataDir }: Configuration,
  role: Role,
  log: Log,
): Promise<Server> {
  if (databaseUrl !== null) {
    const directUrl = databaseDirectUrl ?? databaseUrl
    return { url: databaseUrl, directUrl, dataDir: null, notes: [], close: async () => {} }
  }
  const embedded = await openEmbeddedPostgres({
    dataDir: dataDir ?? undefined,
    home: process.cwd(),
    role,
    onEvent: (event) => {
      if (event === 'embedded_postgres.creating') void loadRunner()
      else log.warn(event)
    },
  })
  return {
    url: embedded.url,
    directUrl: embedded.url,
    dataDir: embedded.dataDir,
    notes: embedded.notes,
    close: () => embedded.close(),
  }
}

async function bringUpToDate(
  { migrate: mode }: Configuration,
  directUrl: string,
): Promise<readonly string[]> {
  if (mode === 'auto') return migrate({ url: directUrl })
  const pending = await pendingMigrations({ url: directUrl })
  if (pending.length === 0) return []
  throw new DatabaseRefused(
    `The schema lacks ${pending.join(', ')} and MIGRATE is off. Run "latchkey migrate" first.`,
  )
}
