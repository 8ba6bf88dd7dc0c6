import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openPgBouncer } from '../support/pgbouncer.ts'
import type { RunningApp } from '../support/running-app.ts'
import { openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { withApp } from './app.ts'
import type { Trial } from './row.ts'
import { shown } from './scene.ts'

export const LEASE_MS = 1000

const CURRENT_MS = 10_000

/** Two instances, one of which reaches the database through a proxy or two. */
export interface Pair {
  readonly database: TestDatabase
  readonly one: RunningApp
  readonly other: RunningApp
  /** In front of the other's queries and heartbeats, and in front of its link. */
  readonly queries: TcpProxy
  readonly link: TcpProxy
}

export interface PairOptions {
  /** One of the row's own by default. */
  readonly database?: TestDatabase
  /** Whether a PgBouncer that pools by transaction stands in front of the other's queries, or of its link too. */
  readonly pooled?: 'nothing' | 'queries' | 'queries and link'
  readonly revocation?: 'strict' | 'prompt'
}

export async function withDatabase(use: (database: TestDatabase) => Promise<void>): Promise<void> {
  const database = await createTestDatabase()
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

/** Accepted often enough that the instance has kept it. */
export async function kept(trial: Trial, app: RunningApp, token: string): Promise<void> {
  for (let i = 0; i < 3; i++) {
    const answer = await app.call('/api/me', { token })
    trial.expect(answer.status === 200, () => `a good token is ${shown(answer)}`)
  }
}

export async function refused(
  trial: Trial,
  app: RunningApp,
  token: string,
  orUnavailable = false,
): Promise<void> {
  const answer = await app.call('/api/me', { token })
  trial.expect(
    answer.status === 401 || (orUnavailable && answer.status === 503),
    () => `a token that was revoked is ${shown(answer)}`,
  )
}

/**
 * Asks until the token is refused, which every request has to be that begins a second after `revokedMs`; answers how
 * long after that moment the refusal was there, in milliseconds.
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

/** Until the instance uses what it keeps again. */
export async function untilCurrent(trial: Trial, app: RunningApp): Promise<void> {
  const { invalidations } = app.service
  const endMs = performance.now() + CURRENT_MS
  while (!invalidations.isCurrent() && performance.now() < endMs) await sleep(20)
  trial.expect(invalidations.isCurrent(), () => 'the cache does not come back')
}

/** Ends the connections of this name. */
export function terminate({ sql }: TestDatabase, name: string): Promise<unknown> {
  return sql(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()',
    [name],
  )
}
