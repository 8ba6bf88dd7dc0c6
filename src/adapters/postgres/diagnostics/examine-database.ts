import { type CheckResult, checkFailed, checkPassed, type Facts } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { serverFaults } from '../connection/server-faults.ts'
import { sqlState } from '../connection/sql-state.ts'
import { isTransactionPooler } from '../connection/transaction-pooler.ts'
import { type MigrationSet, pendingMigrations } from '../migrations.ts'
import { clockSkew } from './clock-skew.ts'
import { connectionLimits } from './connections.ts'
import { receivesNotifications } from './listener-connection.ts'
import { keepsPreparedStatements } from './prepared-statements.ts'
import { serviceConditions } from './service-conditions.ts'
import { storedHashes } from './stored-hashes.ts'

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
/** A skew that does not matter to token lifetimes and limit windows, which last seconds or more. */
const MAX_SKEW_MS = 1000

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
  const findings = [
    await attempt('database.server', () => server(directUrl)),
    await attempt('database.migrations', () => migrations(settings)),
    await attempt('database.link', () => link(url, directUrl, isPooled)),
    await attempt('database.clock', () => clock(directUrl)),
    await attempt('database.connections', () => connectionLimits(url, settings.connections, QUERY_MS)),
    await attempt('database.passwords', () => passwords(directUrl, settings.bcryptCost)),
  ]
  const pending = findings.find(({ name }) => name === 'database.migrations')?.facts?.pending ?? []
  // Pending migrations create what these checks would report as missing.
  if (Array.isArray(pending) && pending.length === 0) {
    const conditions = serviceConditions(url, QUERY_MS)
    findings.push(...(await conditions.catch((error: unknown) => [failed('database.schema', error)])))
  }
  if (isPooled && prepared)
    findings.push(await attempt('database.prepared', () => preparedThroughPooler(url)))
  return [...reached, ...findings]
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
  return checkFailed(
    'database.server',
    state,
    sentences,
    'See the section about your own database in the README.',
  )
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

async function link(url: string, directUrl: string, isPooled: boolean): Promise<CheckResult> {
  const isDirectPooled = directUrl === url ? isPooled : await isTransactionPooler(directUrl, QUERY_MS)
  const facts = { pooler: isPooled }
  if (isDirectPooled)
    return checkFailed(
      'database.link',
      'failure',
      'The listener connection goes through a transaction pooler, which loses notifications: no validation is cached, and a logout takes a second.',
      'Set DATABASE_DIRECT_URL to the address of the server itself.',
      facts,
    )
  const lagMs = await receivesNotifications({ url, directUrl, queryMs: QUERY_MS })
  if (lagMs === null)
    return checkFailed(
      'database.link',
      'failure',
      'A notification through DATABASE_URL is not received on the listener connection: no validation is cached, and a logout takes a second.',
      'Set DATABASE_URL and DATABASE_DIRECT_URL to the same database.',
      facts,
    )
  const way = isPooled ? ' through the transaction pooler' : ''
  return checkPassed(
    'database.link',
    `A notification${way} is received on the listener connection after ${lagMs} ms.`,
    {
      ...facts,
      heard_ms: lagMs,
    },
  )
}

async function clock(url: string): Promise<CheckResult> {
  const skewMs = await clockSkew(url, QUERY_MS)
  const facts = { skew_ms: skewMs, threshold_ms: MAX_SKEW_MS }
  const message = `This machine's clock is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} the database's.`
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return checkPassed('database.clock', message, facts)
  return checkFailed(
    'database.clock',
    'warning',
    message,
    'Synchronise both clocks with NTP: tokens expire by the clock of each instance.',
    facts,
  )
}

async function passwords(url: string, cost: number): Promise<CheckResult> {
  const stored = await storedHashes(url, cost, QUERY_MS)
  if (stored === null) return checkPassed('database.passwords', 'There are no customers yet.')
  const { damaged, dearer } = stored
  const facts = { damaged, dearer }
  if (damaged > 0)
    return checkFailed(
      'database.passwords',
      'warning',
      `${damaged} stored password hashes are damaged: these customers cannot log in.`,
      'Set new passwords for them with the command customer password.',
      facts,
    )
  if (dearer > 0)
    return checkFailed(
      'database.passwords',
      'warning',
      `${dearer} stored password hashes cost more than BCRYPT_COST=${cost}: the response time of a login reveals that these customers exist.`,
      'Raise BCRYPT_COST to their cost, or leave it: each login replaces one of these hashes.',
      facts,
    )
  return checkPassed(
    'database.passwords',
    'Every stored password hash is whole, and none costs more than BCRYPT_COST.',
    facts,
  )
}

async function preparedThroughPooler(url: string): Promise<CheckResult> {
  if (await keepsPreparedStatements(url, QUERY_MS))
    return checkPassed('database.prepared', 'The transaction pooler keeps prepared statements.')
  return checkFailed(
    'database.prepared',
    'failure',
    'The transaction pooler breaks prepared statements.',
    'Set DATABASE_PREPARED=off.',
  )
}
