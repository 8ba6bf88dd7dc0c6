import { type CheckResult, checkFailed } from '../../../lib/check-result.ts'
import { sqlState } from '../connection/sql-state.ts'
import { isTransactionPooler } from '../connection/transaction-pooler.ts'
import type { MigrationSet } from '../migration-set.ts'
import { checkClock } from './clock-skew.ts'
import { connectionLimits } from './connections.ts'
import { checkListenerConnection } from './listener-connection.ts'
import { checkMigrations } from './migrations.ts'
import { checkPreparedStatements } from './prepared-statements.ts'
import { checkConnection, checkSettings } from './server.ts'
import { serviceConditions } from './service-conditions.ts'
import { checkStoredHashes } from './stored-hashes.ts'

/** The settings against which a database is checked. */
export interface ExaminedDatabase {
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
const CONNECTION_CHECKS = ['database.reached', 'database.direct']
/** The driver's error of a query that took longer than its timeout; it has no code. */
const QUERY_TIMEOUT = 'Query read timeout'

/**
 * Checks a PostgreSQL server over separate connections and changes nothing in it. Never rejects: when the server cannot be
 * reached, it returns only the results of the connection checks; when one check fails, the others still run. A check whose
 * query takes longer than `queryMs` milliseconds, ten seconds by default, is reported as not
 * checked.
 */
export async function examineDatabase(
  settings: ExaminedDatabase,
  queryMs = QUERY_MS,
): Promise<readonly CheckResult[]> {
  const { url, directUrl, prepared } = settings
  const reached = [await attempt('database.reached', () => checkConnection('database.reached', url, queryMs))]
  if (directUrl !== url)
    reached.push(
      await attempt('database.direct', () => checkConnection('database.direct', directUrl, queryMs)),
    )
  if (reached.some(({ state }) => state === 'failure')) return reached

  const isPooled = await isTransactionPooler(url, queryMs).catch(() => false)
  const results = [
    await attempt('database.server', () => checkSettings(directUrl, queryMs)),
    await attempt('database.migrations', () => checkMigrations(settings)),
    await attempt('database.link', () => checkListenerConnection({ url, directUrl, isPooled, queryMs })),
    await attempt('database.clock', () => checkClock(directUrl, queryMs)),
    await attempt('database.connections', () => connectionLimits(url, settings.connections, queryMs)),
    await attempt('database.passwords', () => checkStoredHashes(directUrl, settings.bcryptCost, queryMs)),
  ]
  const pending = results.find(({ name }) => name === 'database.migrations')?.facts?.pending ?? []
  // Pending migrations create what these checks would report as missing.
  if (Array.isArray(pending) && pending.length === 0) {
    const conditions = serviceConditions(url, queryMs, isPooled)
    results.push(...(await conditions.catch((error: unknown) => [toFailure('database.schema', error)])))
  }
  if (isPooled && prepared)
    results.push(await attempt('database.prepared', () => checkPreparedStatements(url, queryMs)))
  return [...reached, ...results]
}

async function attempt(name: string, check: () => Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await check()
  } catch (error) {
    return toFailure(name, error)
  }
}

function toFailure(name: string, error: unknown): CheckResult {
  const { message, cause } = error as Error
  if (message === QUERY_TIMEOUT && !CONNECTION_CHECKS.includes(name))
    return checkFailed(
      name,
      'warning',
      'It was not checked, because the database did not respond in time.',
      'Run doctor again when the server is less busy.',
    )
  const hint =
    sqlState(cause) === TOO_MANY_CONNECTIONS
      ? 'Lower DATABASE_POOL_MAX or WORKERS, or raise the connection limit of the role, the database or the server.'
      : 'Check DATABASE_URL, and the server itself.'
  return checkFailed(name, 'failure', message.replace(/\s*\n\s*/g, ' '), hint)
}
