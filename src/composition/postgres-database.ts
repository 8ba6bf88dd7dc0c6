import { locateDataFolder } from '../adapters/embedded-postgres/data-folder.ts'
import { openEmbeddedPostgres } from '../adapters/embedded-postgres/open-embedded-postgres.ts'
import { memoryLoginThrottle } from '../adapters/memory/login-throttle.ts'
import { secretFolder } from '../adapters/node-fs/permissions.ts'
import { countActiveTokens } from '../adapters/postgres/active-tokens.ts'
import { DatabaseRefused } from '../adapters/postgres/connection/database-refused.ts'
import { type DatabasePool, openPool } from '../adapters/postgres/connection/pool.ts'
import { postgresCustomers } from '../adapters/postgres/customers.ts'
import { checkServer, checkTriggers } from '../adapters/postgres/diagnostics/check-server.ts'
import { examineDatabase } from '../adapters/postgres/diagnostics/examine-database.ts'
import { postgresReadiness } from '../adapters/postgres/diagnostics/readiness.ts'
import { postgresLoginThrottle, pruneLoginAttempts } from '../adapters/postgres/login-throttle.ts'
import { postgresLoginTokens } from '../adapters/postgres/login-tokens.ts'
import {
  LATCHKEY_MIGRATIONS,
  loadRunner,
  type MigrationSet,
  migrate,
  pendingMigrations,
} from '../adapters/postgres/migrations.ts'
import {
  leaseTimedInvalidations,
  type PostgresInvalidations,
  postgresInvalidations,
} from '../adapters/postgres/revocation/invalidations.ts'
import type { Configuration } from '../application/configuration.ts'
import { canServe } from '../application/jobs/readiness.ts'
import type { Database, DatabaseContext, OpenDatabase, Role } from '../application/ports/database.ts'
import type { LoginThrottle } from '../application/ports/login-throttle.ts'
import { type CheckResult, checkPassed } from '../lib/check-result.ts'

/** The PostgreSQL of `DATABASE_URL`, or the embedded one: what a service runs on unless it is given another database. */
export const postgresDatabase: Database = createPostgresDatabase([])

/**
 * The same, with migrations of a program's own: whatever migrates the database applies them, each set in its turn behind
 * Latchkey's, on whose tables they may build.
 */
export function createPostgresDatabase(own: readonly MigrationSet[]): Database {
  const sets = [LATCHKEY_MIGRATIONS, ...own]
  return {
    open: (role, surroundings) => openPostgres(role, surroundings, sets),
    migrate: (surroundings) =>
      withServer(surroundings, (url) => ofEach(sets, (set) => migrate({ url, set }))),
    pendingMigrations: (surroundings) =>
      withServer(surroundings, (url) => ofEach(sets, (set) => pendingMigrations({ url, set }))),
    examine: (surroundings) => examinePostgres(surroundings, sets),
  }
}

/** An open PostgreSQL. */
export interface OpenPostgres extends OpenDatabase {
  readonly pool: DatabasePool
}

/** Opens PostgreSQL and brings its schema up to date, or refuses an old one where `MIGRATE` is off. */
export async function openPostgres(
  role: Role,
  surroundings: DatabaseContext,
  sets: readonly MigrationSet[] = [LATCHKEY_MIGRATIONS],
): Promise<OpenPostgres> {
  const { configuration, log } = surroundings
  const server = await reachServer(role, surroundings)
  try {
    for (const warning of await checkServer({ url: server.directUrl })) {
      log.warn('database.setting', { detail: warning })
    }
    const applied = await bringUpToDate(configuration, server.directUrl, sets)
    for (const name of applied) log.info('database.migrated', { detail: name })
    if (role !== 'command') await checkTriggers(server.directUrl)
    const pool = openPool({
      url: server.url,
      max: configuration.poolMax,
      prepared: configuration.prepared,
      onEvent({ kind, detail }) {
        if (kind === 'disk_full') readiness.diskFull()
        log.warn(`database.${kind}`, { detail })
      },
    })
    const readiness = postgresReadiness(pool, {
      nowMs: surroundings.clock.monotonicMs,
      onProblems: (detail) => log.error('database.problem', { detail }),
    })
    const link = role === 'service' ? linked(server, surroundings) : null
    return {
      pool,
      customers: postgresCustomers(pool),
      loginTokens: postgresLoginTokens(pool),
      throttle: loginThrottle(pool, surroundings),
      invalidations: link ?? leaseTimedInvalidations(),
      prunables: [
        { name: 'login_attempts', prune: (limit, timeoutMs) => pruneLoginAttempts(pool, limit, timeoutMs) },
      ],
      workerEnv: configuration.databaseUrl === null ? { DATABASE_URL: server.url } : {},
      dataDir: server.dataDir,
      lost: server.lost,
      fresh: applied.includes('0001_customers_and_login_tokens'),
      notes: server.notes,
      connections: pool.connections,
      countActiveTokens: () => countActiveTokens(pool, surroundings.clock.nowMs()),
      checkStatus: readiness.checkStatus,
      ready: async (timeoutMs) => canServe(await readiness.checkStatus(timeoutMs)),
      async close() {
        await link?.close()
        await pool.close()
        await server.close()
      },
    }
  } catch (error) {
    await server.close()
    throw error
  }
}

function linked(
  { url, directUrl }: Server,
  { configuration, log, clock, onInvalidationLag }: DatabaseContext,
): PostgresInvalidations {
  return postgresInvalidations({
    url,
    directUrl,
    prepared: configuration.prepared,
    strict: configuration.revocation === 'strict',
    clock,
    onEvent: ({ kind, detail }) => log[kind === 'resumed' ? 'info' : 'warn'](`cache.${kind}`, { detail }),
    onLag: onInvalidationLag,
  })
}

async function examinePostgres(
  surroundings: DatabaseContext,
  sets: readonly MigrationSet[],
): Promise<readonly CheckResult[]> {
  const { configuration } = surroundings
  const folder = configuration.databaseUrl === null ? locateDataFolder(embeddedIn(configuration)) : null
  const ofFolder = folder === null ? [] : [secretFolder('files.DATA_DIR', folder.path)]
  if (folder?.isPrepared === false)
    return [
      ...ofFolder,
      checkPassed('database', 'The embedded PostgreSQL does not exist yet; the first start creates it.'),
    ]
  const { prepared, migrate, bcryptCost, workers, poolMax } = configuration
  // Beside its pool each process has a link and a voice.
  const connections = workers * (poolMax + 2)
  const server = await reachServer('command', surroundings)
  try {
    const { url, directUrl } = server
    const settings = { url, directUrl, sets, prepared, migrate, bcryptCost, connections }
    return [...ofFolder, ...(await examineDatabase(settings))]
  } finally {
    await server.close()
  }
}

/** Where the embedded PostgreSQL is. */
function embeddedIn({ dataDir }: Configuration): { dataDir: string | undefined; home: string } {
  return { dataDir: dataDir ?? undefined, home: process.cwd() }
}

/** In memory where no other process can share the counts: on the embedded database, with one worker. */
function loginThrottle(pool: DatabasePool, { configuration, clock }: DatabaseContext): LoginThrottle {
  const isAlone = configuration.databaseUrl === null && configuration.workers === 1
  return isAlone ? memoryLoginThrottle(configuration, clock) : postgresLoginThrottle(pool, configuration)
}

/** Lends the address of a direct connection to the configured server, whatever its schema. */
async function withServer<T>(
  surroundings: DatabaseContext,
  use: (directUrl: string) => Promise<T>,
): Promise<T> {
  const server = await reachServer('command', surroundings)
  try {
    return await use(server.directUrl)
  } finally {
    await server.close()
  }
}

interface Server {
  readonly url: string
  /** Of the same database, without a transaction pooler in between. */
  readonly directUrl: string
  /** The folder of the embedded PostgreSQL; null for a server of the operator's. */
  readonly dataDir: string | null
  readonly notes: readonly string[]
  readonly lost: Promise<never>
  close(): Promise<void>
}

const NEVER = new Promise<never>(() => {})

async function reachServer(role: Role, { configuration, log }: DatabaseContext): Promise<Server> {
  const { databaseUrl, databaseDirectUrl } = configuration
  if (databaseUrl !== null) {
    const directUrl = databaseDirectUrl ?? databaseUrl
    return { url: databaseUrl, directUrl, dataDir: null, notes: [], lost: NEVER, close: async () => {} }
  }
  const embedded = await openEmbeddedPostgres({
    ...embeddedIn(configuration),
    // A service has the embedded one to itself, commands share it.
    role: role === 'command' ? 'command' : 'service',
    onEvent: (event, { reason }) => {
      if (event === 'embedded_postgres.creating') void loadRunner()
      else log.warn(event, typeof reason === 'string' ? { detail: reason } : {})
    },
  })
  return {
    url: embedded.url,
    directUrl: embedded.url,
    dataDir: embedded.dataDir,
    notes: embedded.notes,
    lost: embedded.lost,
    close: () => embedded.close(),
  }
}

async function bringUpToDate(
  { migrate: mode }: Configuration,
  url: string,
  sets: readonly MigrationSet[],
): Promise<readonly string[]> {
  if (mode === 'auto') return ofEach(sets, (set) => migrate({ url, set }))
  const pending = await ofEach(sets, (set) => pendingMigrations({ url, set }))
  if (pending.length === 0) return []
  throw new DatabaseRefused(
    `The schema lacks ${pending.join(', ')} and MIGRATE is off. Run the command migrate first.`,
  )
}

/** One set after the other: what a later one needs, an earlier one may make. */
async function ofEach(
  sets: readonly MigrationSet[],
  work: (set: MigrationSet) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const names: string[] = []
  for (const set of sets) names.push(...(await work(set)))
  return names
}
