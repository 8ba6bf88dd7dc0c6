import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { openPool } from '../../../src/adapters/postgres/connection/pool.ts'
import { postgresLoginThrottle, pruneLoginAttempts } from '../../../src/adapters/postgres/login-throttle.ts'
import type { LoginLimits } from '../../../src/domain/login-limit.ts'
import { loginThrottleContract } from '../../../src/testing/contracts/login-throttle.ts'
import { TIMEOUT_MS } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'

let stores: PostgresStores
before(async () => {
  stores = await openPostgresStores()
})
after(() => stores.close())
beforeEach(() => stores.database.sql('truncate login_attempts'))

loginThrottleContract('PostgreSQL', async (limits) => ({
  throttle: postgresLoginThrottle(stores.pool, limits),
  advance,
}))

/** Moves what is stored into the past, which is the same to who looks at it. */
async function advance(ms: number): Promise<void> {
  await stores.database.sql(
    `update login_attempts set
       since = since - $1 * interval '1 ms', succeeded_at = succeeded_at - $1 * interval '1 ms',
       forget_at = forget_at - $1 * interval '1 ms',
       held = array(select place - $1 * interval '1 ms' from unnest(held) as place)`,
    [ms],
  )
}

const LIMITS: LoginLimits = {
  loginLimitAccount: { failures: 10, windowMs: 900_000 },
  loginLimitAddress: { failures: 1000, windowMs: 900_000 },
}
const HOUR_MS = 3_600_000

describe('The login throttle in PostgreSQL', () => {
  it('counts exactly across several instances, each with its own pool', async () => {
    const pools = [1, 2, 3].map(() =>
      openPool({ url: stores.database.url, max: 5, prepared: true, onEvent: () => {} }),
    )
    try {
      const takes = pools.map((pool) => postgresLoginThrottle(pool, LIMITS).take)
      const admissions = await Promise.all(
        Array.from({ length: 200 }, (_, i) => takes[i % takes.length]?.(attempt('ana'), TIMEOUT_MS)),
      )
      assert.equal(admissions.filter((admission) => admission?.kind === 'taken').length, 10)
    } finally {
      await Promise.all(pools.map((pool) => pool.close()))
    }
  })

  it('never deadlocks when many accounts and addresses are attempted, settled and pruned at once', async () => {
    const throttle = postgresLoginThrottle(stores.pool, LIMITS)
    const before = await deadlocks()
    let isOver = false
    const pruning = (async () => {
      while (!isOver) {
        await stores.database.sql(`
          update login_attempts set forget_at = now()
           where key in (select key from login_attempts order by random() limit 1 for update skip locked)`)
        await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS)
      }
    })()
    await Promise.all(
      Array.from({ length: 8 }, async (_, worker) => {
        for (let i = 0; i < 60; i++) {
          const admission = await throttle.take(attempt(`${i % 3}`, `${(i + worker) % 4}`), TIMEOUT_MS)
          if (admission.kind === 'taken') {
            await throttle.settle(admission.slot, i % 5 === 0 ? 'succeeded' : 'failed', TIMEOUT_MS)
          }
        }
      }),
    )
    isOver = true
    await pruning
    assert.equal(await deadlocks(), before)
  })

  it('stores no e-mail and no address', async () => {
    const throttle = postgresLoginThrottle(stores.pool, LIMITS)
    await throttle.take(attempt('unknown@example.com', '192.0.2.77'), TIMEOUT_MS)
    const [{ text }] = (await stores.database.sql(
      "select string_agg(login_attempts::text || encode(key, 'escape'), ' ') as text from login_attempts",
    )) as unknown as [{ text: string }]
    assert.doesNotMatch(text, /unknown|192\.0/)
  })

  it('writes and publishes nothing for an attempt that is refused or waits', async () => {
    const throttle = postgresLoginThrottle(stores.pool, LIMITS)
    for (let i = 0; i < 10; i++) await throttle.take(attempt('ana'), TIMEOUT_MS)
    const before = await stores.database.sql('select xmin::text, key from login_attempts order by key')
    assert.equal((await throttle.take(attempt('ana'), TIMEOUT_MS)).kind, 'wait')
    const after = await stores.database.sql('select xmin::text, key from login_attempts order by key')
    assert.deepEqual(after, before)
    assert.deepEqual(
      await stores.database.sql(
        "select tgname from pg_trigger where tgrelid = 'login_attempts'::regclass and not tgisinternal",
      ),
      [],
    )
  })

  it('prunes expired rows up to the limit and skips locked ones', async () => {
    const throttle = postgresLoginThrottle(stores.pool, LIMITS)
    const fail = async (account: string) => {
      const admission = await throttle.take(attempt(account, account), TIMEOUT_MS)
      assert.ok(admission.kind === 'taken')
      await throttle.settle(admission.slot, 'failed', TIMEOUT_MS)
    }
    for (const account of ['a', 'b']) await fail(account)
    assert.equal(await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS), 0)
    await advance(2 * HOUR_MS)
    await fail('c')
    // The failures in a row of the two accounts stay stored for a month.
    assert.equal(await pruneLoginAttempts(stores.pool, 3, TIMEOUT_MS), 3)
    assert.equal(await pruneLoginAttempts(stores.pool, 3, TIMEOUT_MS), 1)
    assert.equal(await pruneLoginAttempts(stores.pool, 3, TIMEOUT_MS), 0)
    await advance(31 * 24 * HOUR_MS)
    await stores.pool.run(TIMEOUT_MS, (session) =>
      session.transaction(async () => {
        const locked = { name: 'lock_one', text: 'select from login_attempts limit 1 for update' }
        await session.query(locked, [])
        assert.equal(await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS), 4)
      }),
    )
    assert.equal(await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS), 1)
  })

  it('never prunes a row that still counts', async () => {
    const throttle = postgresLoginThrottle(stores.pool, LIMITS)
    for (let i = 0; i < 10; i++) {
      const admission = await throttle.take(attempt('ana'), TIMEOUT_MS)
      assert.ok(admission.kind === 'taken')
      await throttle.settle(admission.slot, 'failed', TIMEOUT_MS)
    }
    await advance(800_000)
    await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS)
    assert.equal((await throttle.take(attempt('ana'), TIMEOUT_MS)).kind, 'refused')
  })
})

function attempt(account: string, address = '192.0.2.1') {
  return { account, address }
}

async function deadlocks(): Promise<number> {
  const [row] = await stores.database.sql<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  return Number(row?.deadlocks)
}
