import { memoryLoginThrottle } from '../adapters/memory/login-throttle.ts'
import { countActiveTokens } from '../adapters/postgres/active-tokens.ts'
import { type DatabasePool, openPool } from '../adapters/postgres/connection/pool.ts'
import { isSameDatabase, rotateCredentials } from '../adapters/postgres/connection/rotated-urls.ts'
import { postgresCustomers } from '../adapters/postgres/customers.ts'
import { checkServer, checkTriggers } from '../adapters/postgres/diagnostics/check-server.ts'
import { postgresReadiness } from '../adapters/postgres/diagnostics/readiness.ts'
import { postgresImportedTokens } from '../adapters/postgres/imported-tokens.ts'
import { postgresLoginThrottle, pruneLoginAttempts } from '../adapters/postgres/login-throttle.ts'
import { postgresLoginTokens } from '../adapters/postgres/login-tokens.ts'
import { LATCHKEY_MIGRATIONS, type MigrationSet } from '../adapters/postgres/migration-set.ts'
import { postgresOneTimeTokens } from '../adapters/postgres/one-time-tokens.ts'
import {
  leaseTimedInvalidations,
  type PostgresInvalidations,
  postgresInvalidations,
} from '../adapters/postgres/revocation/invalidations.ts'
import { canServe } from '../application/jobs/readiness.ts'
import {
  type DatabaseContext,
  type DatabaseSettings,
  DatabaseUnusable,
  type OpenDatabase,
  type Role,
} from '../application/ports/database.ts'
import type { LoginThrottle } from '../application/ports/login-throttle.ts'
import { migrateOrCheck } from './postgres-schema.ts'
import { openServer, type Server } from './postgres-server.ts'

/** An open PostgreSQL. */
export interface OpenPostgres extends OpenDatabase {
  readonly pool: DatabasePool
}

/** Opens PostgreSQL and migrates its schema. Throws `DatabaseRefused` for an old schema when `MIGRATE` is off. */
export async function openPostgres(
  role: Role,
  context: DatabaseContext,
  sets: readonly MigrationSet[] = [LATCHKEY_MIGRATIONS],
): Promise<OpenPostgres> {
  const { configuration, log } = context
  const server = await openServer(role, context)
  try {
    // The settings of a session depend on its address.
    const checked = [...new Set([server.directUrl, server.url])].map((url) => checkServer({ url }))
    for (const warning of new Set((await Promise.all(checked)).flat())) {
      log.warn('database.setting', { detail: warning })
    }
    const applied = await migrateOrCheck(configuration, server.directUrl, sets)
    for (const name of applied) log.info('database.migrated', { detail: name })
    if (role !== 'command') await checkTriggers(server.directUrl)
    const pool = openPool({
      url: server.url,
      max: configuration.poolMax,
      prepared: configuration.prepared,
      onEvent({ kind, detail }) {
        if (kind === 'disk_full') readiness.reportDiskFull()
        log.warn(`database.${kind}`, { detail })
      },
    })
    const readiness = postgresReadiness(pool, {
      nowMs: () => context.clock.monotonicMs(),
      onProblems: (detail) => log.error('database.problem', { detail }),
    })
    const invalidations = role === 'service' ? openInvalidations(server, context) : null
    return {
      pool,
      customers: postgresCustomers(pool),
      loginTokens: postgresLoginTokens(pool),
      oneTimeTokens: postgresOneTimeTokens(pool),
      importedTokens: postgresImportedTokens(pool),
      throttle: loginThrottle(pool, context),
      invalidations: invalidations ?? leaseTimedInvalidations(),
      prunables: [
        { name: 'login_attempts', prune: (limit, timeoutMs) => pruneLoginAttempts(pool, limit, timeoutMs) },
      ],
      workerEnv: configuration.databaseUrl === null ? { DATABASE_URL: server.url } : {},
      dataDir: server.dataDir,
      lost: server.lost,
      fresh: applied.includes('0001_customers_and_login_tokens'),
      notes: server.notes,
      connections: pool.connections,
      countActiveTokens: () => countActiveTokens(pool, context.clock.nowMs()),
      checkStatus: readiness.checkStatus,
      ready: async (timeoutMs) => canServe(await readiness.checkStatus(timeoutMs)),
      reload: (settings) => reloadCredentials(configuration, settings),
      async close() {
        await invalidations?.close()
        await pool.close()
        await server.close()
      },
    }
  } catch (error) {
    await server.close()
    throw error
  }
}

function reloadCredentials(opened: DatabaseSettings, settings: DatabaseSettings): void {
  const pairs = [
    [opened.databaseUrl, settings.databaseUrl],
    [opened.databaseDirectUrl, settings.databaseDirectUrl],
  ] as const
  // A worker of the embedded server was opened with a URL that its primary passed on.
  if (opened.databaseUrl === null || settings.databaseUrl === null) return
  for (const [before, now] of pairs) {
    if (before === null || now === null || !isSameDatabase(before, now))
      throw new DatabaseUnusable(
        'Of DATABASE_URL and DATABASE_DIRECT_URL, only user and password can be reloaded. Restart the service.',
      )
  }
  for (const [before, now] of pairs) if (before !== null && now !== null) rotateCredentials(before, now)
}

function openInvalidations(
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

/** Counts in memory when no other process shares the counts: on the embedded database, with one worker. */
function loginThrottle(pool: DatabasePool, { configuration, clock }: DatabaseContext): LoginThrottle {
  const isAlone = configuration.databaseUrl === null && configuration.workers === 1
  return isAlone ? memoryLoginThrottle(configuration, clock) : postgresLoginThrottle(pool, configuration)
}
