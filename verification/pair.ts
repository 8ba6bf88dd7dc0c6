import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase, type TestDatabase } from '../tests/support/database.ts'
import { openPgBouncer } from '../tests/support/pgbouncer.ts'
import type { RunningApp } from '../tests/support/running-app.ts'
import { openTcpProxy, type TcpProxy } from '../tests/support/tcp-proxy.ts'
import { withApp } from './app.ts'
import type { Trial } from './row.ts'
import { shown } from './scene.ts'

export const LEASE_MS = 1000

const CURRENT_MS = 10_000

/** Two instances. One of them reaches the database through proxies. */
export interface Pair {
  readonly database: TestDatabase
  readonly one: RunningApp
  readonly other: RunningApp
  /** The proxies in front of the other instance's queries and heartbeats, and of its listener connection. */
  readonly queries: TcpProxy
  readonly link: TcpProxy
}

export interface PairOptions {
  /** A new database by default. */
  readonly database?: TestDatabase
  /**
   * Whether a PgBouncer in transaction mode stands in front of the other instance's queries, or also of its listener
   * connection.
   */
  readonly pooled?: 'nothing' | 'queries' | 'queries and link'
  readonly revocation?: 'strict' | 'prompt'
}

export async function withDatabase(
  use: (database: TestDatabase) => Promise<void>,
  options: { readonly migrated?: boolean } = {},
): Promise<void> {
  const database = await createTestDatabase(options)
  try {
    await use(database)
  } finally {
    await database.drop()
  }
}

export function withPair(
  trial: Trial,
  use: (pair: Pair) => Promise<void>,
  { database, pooled = 'nothing', revocation = 'strict' }: PairOptions = {},
): Promise<void> {
  return database === undefined ? withDatabase(pairOn) : pairOn(database)

  function pairOn(on: TestDatabase): Promise<void> {
    return withApp(trial, { database: on, env: { REVOCATION: revocation } }, async (one) => {
      const pooler = pooled === 'nothing' ? null : await openPgBouncer(on.url)
      const queries = await openTcpProxy(pooler?.url ?? on.url)
      const link = await openTcpProxy(pooled === 'queries and link' ? queries.url : on.url)
      const env = {
        DATABASE_URL: queries.url,
        DATABASE_DIRECT_URL: link.url,
        DATABASE_PREPARED: 'off',
        REVOCATION: revocation,
      }
      try {
        await withApp(trial, { database: on, env, isSecond: true }, async (other) => {
          await use({ database: on, one, other, queries, link })
          link.thaw()
          queries.thaw()
        })
      } finally {
        await link.close()
        await queries.close()
        await pooler?.close()
      }
    })
  }
}

/** Validates a token until the instance has certainly cached it. */
export async function expectCached(trial: Trial, app: RunningApp, token: string): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const response = await app.call('/api/me', { token })
    trial.expect(response.status === 200, () => `a good token is ${shown(response)}`)
  }
}

export async function refused(
  trial: Trial,
  app: RunningApp,
  token: string,
  orUnavailable = false,
): Promise<void> {
  const response = await app.call('/api/me', { token })
  trial.expect(
    response.status === 401 || (orUnavailable && response.status === 503),
    () => `a token that was revoked is ${shown(response)}`,
  )
}

/**
 * Calls until the token is refused, which every request must be that begins a second after `revokedMs`. Returns how
 * long after that time the refusal came, in milliseconds.
 */
export async function refusedInTime(
  trial: Trial,
  app: RunningApp,
  token: string,
  revokedMs: number,
): Promise<number> {
  let lateMs = -1
  for (let isAccepted = true; isAccepted && lateMs < LEASE_MS; ) {
    const beganMs = performance.now()
    isAccepted = (await app.call('/api/me', { token })).status === 200
    if (isAccepted) lateMs = beganMs - revokedMs
  }
  trial.expect(lateMs < LEASE_MS, () => `accepted ${Math.round(lateMs)} ms after the revocation`)
  return performance.now() - revokedMs
}

/** Waits until the instance uses its cache again. */
export async function untilCurrent(trial: Trial, app: RunningApp): Promise<void> {
  const { invalidations } = app.service
  const endMs = performance.now() + CURRENT_MS
  while (!invalidations.isCurrent() && performance.now() < endMs) await sleep(20)
  trial.expect(invalidations.isCurrent(), () => 'the cache does not come back')
}

/** Terminates the connections of this application name. */
export function terminate({ sql }: TestDatabase, name: string): Promise<unknown> {
  return sql(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()',
    [name],
  )
}
