import { type CheckResult, checkFailed, checkPassed, type Facts } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { serverFaults } from '../connection/server-faults.ts'
import { sqlState } from '../connection/sql-state.ts'
import { isTransactionPooler } from '../connection/transaction-pooler.ts'
import { type MigrationSet, pendingMigrations } from '../migrations.ts'
import { checkClock } from './clock-skew.ts'
import { connectionLimits } from './connections.ts'
import { checkListenerConnection } from './listener-connection.ts'
import { checkPreparedStatements } from './prepared-statements.ts'
import { serviceConditions } from './service-conditions.ts'
import { checkStoredHashes } from './stored-hashes.ts'

/** The settings against which a database is checked. */
export interface DatabaseSettings {
  readonly url: string
  /** The address without a transaction pooler; the same as `url` unless the operator set it. */
  readonly directUrl: string
  /** The migrations of its schema. */
  readonly sets: readonly MigrationSet[]
  readonly prepared: boolean
  readonly migrate: 'auto' | 'off'
  /** The number of connections that one instance opens, all its processes together. */
  readonly connections: number
  readonly bcryptCost: number
}

const QUERY_MS = 10_000
const TOO_MANY_CONNECTIONS = '53300'

/**
 * Checks a PostgreSQL server over separate connections and changes nothing in it. Never rejects: when the server cannot be
 * reached, it returns only the results of the connection checks; when one check fails, the others still run.
 */
export async function examineDatabase(settings: DatabaseSettings): Promise<readonly CheckResult[]> {
  const { url, directUrl, prepared } = settings
  const reached = [await attempt('database.reached', () => reach('database.reached', url))]
  if (directUrl !== url)
    reached.push(await attempt('database.direct', () => reach('database.direct', directUrl)))
  if (reached.some(({ state }) => state === 'failure')) return reached

  const isPooled = await isTransactionPooler(url, QUERY_MS).catch(() => false)
  const results = [
    await attempt('database.server', () => server(directUrl)),
    await attempt('database.migrations', () => migrations(settings)),
    await attempt('database.link', () =>
      checkListenerConnection({ url, directUrl, isPooled, queryMs: QUERY_MS }),
    ),
    await attempt('database.clock', () => checkClock(directUrl, QUERY_MS)),
    await attempt('database.connections', () => connectionLimits(url, settings.connections, QUERY_MS)),
    await attempt('database.passwords', () => checkStoredHashes(directUrl, settings.bcryptCost, QUERY_MS)),
  ]
  const pending = results.find(({ name }) => name === 'database.migrations')?.facts?.pending ?? []
  // Pending migrations create what these checks would report as missing.
  if (Array.isArray(pending) && pending.length === 0) {
    const conditions = serviceConditions(url, QUERY_MS)
    results.push(...(await conditions.catch((error: unknown) => [failed('database.schema', error)])))
  }
  if (isPooled && prepared)
    results.push(await attempt('database.prepared', () => checkPreparedStatements(url, QUERY_MS)))
  return [...reached, ...results]
}

async function attempt(name: string, check: () => Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await check()
  } catch (error) {
    return failed(name, error)
  }
}

function failed(name: string, error: unknown): CheckResult {
  const { message, cause } = error as Error
  const hint =
    sqlState(cause) === TOO_MANY_CONNECTIONS
      ? 'Lower DATABASE_POOL_MAX or WORKERS, or raise the connection limit of the role, the database or the server.'
      : 'Check DATABASE_URL, and the server itself.'
  return checkFailed(name, 'failure', message.replace(/\s*\n\s*/g, ' '), hint)
}

async function reach(name: string, url: string): Promise<CheckResult> {
  const beganMs = performance.now()
  return withDirectClient(
    url,
    async (client) => {
      const { version, database } = (
        await client.query(
          "select current_setting('server_version') as version, current_database() as database",
        )
      ).rows[0]
      const tookMs = Math.round(performance.now() - beganMs)
      return checkPassed(
        name,
        `PostgreSQL ${version} responds at ${client.host}:${client.port}, database ${database}, in ${tookMs} ms.`,
        { version, connect_ms: tookMs },
      )
    },
    QUERY_MS,
  )
}

async function server(url: string): Promise<CheckResult> {
  const faults = await withDirectClient(url, serverFaults, QUERY_MS)
  if (faults.length === 0)
    return checkPassed('database.server', 'The version and the settings of the server fit the service.')
  const state = faults.some(({ isFatal }) => isFatal) ? 'failure' : 'warning'
  const sentences = faults.map(({ sentence }) => sentence).join(' ')
  return checkFailed('database.server', state, sentences, 'See docs/operations/postgresql.md.')
}

async function migrations({ directUrl, sets, migrate }: DatabaseSettings): Promise<CheckResult> {
  const pending = (await Promise.all(sets.map((set) => pendingMigrations({ url: directUrl, set })))).flat()
  const facts: Facts = { pending }
  if (pending.length === 0) return checkPassed('database.migrations', 'The schema is current.', facts)
  const message = `The schema lacks ${pending.join(', ')}.`
  return migrate === 'off'
    ? checkFailed(
        'database.migrations',
        'failure',
        message,
        'Run the command migrate: with MIGRATE=off no service starts.',
        facts,
      )
    : checkFailed(
        'database.migrations',
        'warning',
        message,
        'The next start applies it, or the command migrate.',
        facts,
      )
}
