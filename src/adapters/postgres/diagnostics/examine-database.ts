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

/** What of the settings a database has to go together with. */
export interface DatabaseSettings {
  readonly url: string
  /** Without a transaction pooler in between, if the operator gave one. */
  readonly directUrl: string
  /** What its schema is made of. */
  readonly sets: readonly MigrationSet[]
  readonly prepared: boolean
  readonly migrate: 'auto' | 'off'
  /** Connections that one instance takes, all its processes together. */
  readonly connections: number
  readonly bcryptCost: number
}

const QUERY_MS = 10_000
const TOO_MANY_CONNECTIONS = '53300'
/** What the lives of tokens and the windows of limits, which are seconds and more, do not notice. */
const SKEW_MS = 1000

/**
 * Examines a PostgreSQL from outside, on connections of its own, and changes nothing in it. Where it cannot be
 * reached there is one finding; where one check fails, the others are made all the same.
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
  // What a migration will create is not missing.
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
        `PostgreSQL ${version} answers at ${client.host}:${client.port}, database ${database}, in ${tookMs} ms.`,
        { version, connect_ms: tookMs },
      )
    },
    QUERY_MS,
  )
}

async function server(url: string): Promise<CheckResult> {
  const faults = await withDirectClient(url, serverFaults, QUERY_MS)
  if (faults.length === 0)
    return checkPassed('database.server', 'Its version and its settings keep what the service promises.')
  const state = faults.some(({ isFatal }) => isFatal) ? 'failure' : 'warning'
  const sentences = faults.map(({ sentence }) => sentence).join(' ')
  return checkFailed('database.server', state, sentences, 'The README has a section on a database of yours.')
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
      'The link goes through a transaction pooler, which loses notifications: no validation is kept, and a logout takes a second.',
      'Set DATABASE_DIRECT_URL to the address of the server itself.',
      facts,
    )
  const heardMs = await receivesNotifications({ url, directUrl, queryMs: QUERY_MS })
  if (heardMs === null)
    return checkFailed(
      'database.link',
      'failure',
      'What is notified through DATABASE_URL is not heard on the link: no validation is kept, and a logout takes a second.',
      'Let DATABASE_URL and DATABASE_DIRECT_URL lead to the same database.',
      facts,
    )
  const way = isPooled ? ' through the transaction pooler' : ''
  return checkPassed('database.link', `A notification${way} is heard on the link after ${heardMs} ms.`, {
    ...facts,
    heard_ms: heardMs,
  })
}

async function clock(url: string): Promise<CheckResult> {
  const skewMs = await clockSkew(url, QUERY_MS)
  const facts = { skew_ms: skewMs, threshold_ms: SKEW_MS }
  const message = `This machine's clock is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} the database's.`
  if (Math.abs(skewMs) <= SKEW_MS) return checkPassed('database.clock', message, facts)
  return checkFailed(
    'database.clock',
    'warning',
    message,
    'Let both be set by NTP: tokens expire by the clock of each instance.',
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
      `${damaged} stored password hashes are damaged: nobody can log in with them.`,
      'Set those passwords anew: the command customer password.',
      facts,
    )
  if (dearer > 0)
    return checkFailed(
      'database.passwords',
      'warning',
      `${dearer} stored password hashes cost more than BCRYPT_COST=${cost}: the time of an answer tells that these customers exist.`,
      'Raise BCRYPT_COST to their cost, or leave it: each login renews one.',
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
