import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { openPool } from '../../../src/adapters/postgres/connection/pool.ts'
import { postgresLoginThrottle, pruneLoginAttempts } from '../../../src/adapters/postgres/login-throttle.ts'
import type { LoginAttempt, LoginThrottle } from '../../../src/application/ports/login-throttle.ts'
import { foldedEmail } from '../../../src/domain/customer.ts'
import type { LoginLimits } from '../../../src/domain/login-limit.ts'
import { loginThrottleContract } from '../../../src/testing/contracts/login-throttle.ts'
import { TIMEOUT_MS } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'

let stores: PostgresStores
before(async () => {
  stores = await openPostgresStores({ stallable: true })
})
after(() => stores.close())
beforeEach(() => stores.database.sql('truncate login_attempts'))

loginThrottleContract('PostgreSQL', async (limits) => ({
  throttle: postgresLoginThrottle(stores.pool, limits),
  ...(stores.stall && { stall: stores.stall }),
  async advance(ms) {
    await advance(ms)
    await pruneLoginAttempts(stores.pool, 10_000, TIMEOUT_MS)
  },
}))

/** Moves the stored times into the past, which has the effect of a later clock. */
async function advance(ms: number): Promise<void> {
  await stores.database.sql(
    `update login_attempts set
       since = since - $1 * interval '1 ms', full_at = full_at - $1 * interval '1 ms',
       succeeded_at = succeeded_at - $1 * interval '1 ms',
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
    for (const account of ['a', 'b']) await settle(throttle, attempt(account, account), 'failed')
    assert.equal(await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS), 0)
    await advance(2 * HOUR_MS)
    await settle(throttle, attempt('c', 'c'), 'failed')
    // Of each account its own row, the row of its address and that of both.
    assert.equal(await pruneLoginAttempts(stores.pool, 4, TIMEOUT_MS), 4)
    assert.equal(await pruneLoginAttempts(stores.pool, 4, TIMEOUT_MS), 2)
    assert.equal(await pruneLoginAttempts(stores.pool, 4, TIMEOUT_MS), 0)
    await settle(throttle, attempt('d', 'd'), 'succeeded')
    await advance(31 * 24 * HOUR_MS)
    await stores.pool.run(TIMEOUT_MS, (session) =>
      session.transaction(async () => {
        const locked = { name: 'lock_one', text: 'select from login_attempts limit 1 for update' }
        await session.query(locked, [])
        assert.equal(await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS), 5)
      }),
    )
    assert.equal(await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS), 1)
  })

  it('never prunes a row that still counts', async () => {
    const throttle = postgresLoginThrottle(stores.pool, LIMITS)
    for (let i = 0; i < 10; i++) await settle(throttle, attempt('ana'), 'failed')
    await advance(800_000)
    await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS)
    assert.equal((await throttle.take(attempt('ana'), TIMEOUT_MS)).kind, 'refused')
  })

  it('stores failures for at most three hours, of accounts without a customer too', async () => {
    const throttle = postgresLoginThrottle(stores.pool, LIMITS)
    for (let i = 0; i < 20; i++) await settle(throttle, attempt('unknown', `${i}`), 'failed')
    await advance(3 * HOUR_MS)
    await pruneLoginAttempts(stores.pool, 100, TIMEOUT_MS)
    assert.deepEqual(await stores.database.sql('select from login_attempts'), [])
  })

  it('forgets a login at once when any program deletes its customer', async () => {
    const throttle = postgresLoginThrottle(stores.pool, LIMITS)
    const { sql } = stores.database
    const role = `another_program_${randomUUID().replaceAll('-', '')}`
    const count = async () => (await sql('select from login_attempts')).length
    await sql(`create role ${role}`)
    try {
      await sql(`grant select, delete on customers to ${role}`)
      for (const email of ['Ána@Example.com', 'bea@example.com']) {
        await sql('insert into customers (id, email, created_at) values (gen_random_uuid(), $1, now())', [
          email,
        ])
        for (const address of ['192.0.2.1', '192.0.2.2']) {
          await settle(throttle, attempt(foldedEmail(email), address), 'succeeded')
        }
        await settle(throttle, attempt(foldedEmail(email), '192.0.2.3'), 'failed')
      }
      // Three addresses; and of each account its own row, and one with each address.
      assert.equal(await count(), 3 + 2 * (1 + 3))
      await sql(`set role ${role}; delete from customers where email like '%na@%'; reset role`)
      assert.equal(await count(), 3 + 1 + 3)
      const admission = await throttle.take(attempt('bea@example.com'), TIMEOUT_MS)
      assert.ok(admission.kind === 'taken' && admission.slot.isKnown)
      await sql('delete from customers')
      assert.equal(await count(), 3)
    } finally {
      await sql(`drop owned by ${role}; drop role ${role}`)
    }
  })

  it('stores keys that need the secret of the database', async () => {
    const throttle = postgresLoginThrottle(stores.pool, LIMITS)
    const before = await storedKeys(throttle)
    await stores.database.sql('update login_attempts_secret set secret = sha256(secret)')
    const after = await storedKeys(throttle)
    assert.equal(new Set([...before, ...after]).size, 6)
    await stores.database.sql('delete from login_attempts_secret')
    assert.equal((await storedKeys(throttle)).length, 3, 'attempts are counted without it, too')
  })

  it('serves processes of the version before, whose functions have another signature', async () => {
    const keys = [1, 2, 3].map((key) => Buffer.alloc(32, key))
    const admit = async () => {
      const [row] = await stores.database.sql<{ kind: string; name: string; ms: number; pause_ms: number }>(
        "select * from latchkey_take_login_place($1, $2, $3, 10, '15 minutes', 1000, '15 minutes', 20)",
        keys,
      )
      assert.ok(row)
      assert.deepEqual(Object.keys(row), ['kind', 'name', 'ms', 'pause_ms'])
      return row
    }
    for (let i = 0; i < 10; i++) {
      await stores.database.sql(
        "select latchkey_settle_login_place($1, $2, $3, $4, 'failed', '15 minutes', '15 minutes')",
        [...keys, (await admit()).ms],
      )
    }
    const { kind, name, pause_ms } = await admit()
    assert.deepEqual([kind, name, pause_ms], ['refused', 'account', 45_000])
  })
})

async function settle(
  throttle: LoginThrottle,
  attempted: LoginAttempt,
  outcome: 'failed' | 'succeeded',
): Promise<void> {
  const admission = await throttle.take(attempted, TIMEOUT_MS)
  assert.ok(admission.kind === 'taken')
  await throttle.settle(admission.slot, outcome, TIMEOUT_MS)
}

/** Returns the keys that a failed login stores. */
async function storedKeys(throttle: LoginThrottle): Promise<readonly string[]> {
  await stores.database.sql('delete from login_attempts')
  await settle(throttle, attempt('ana'), 'failed')
  const rows = await stores.database.sql<{ key: string }>(
    "select encode(key, 'hex') as key from login_attempts",
  )
  return rows.map(({ key }) => key)
}

function attempt(account: string, address = '192.0.2.1') {
  return { account, address }
}

async function deadlocks(): Promise<number> {
  const [row] = await stores.database.sql<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  return Number(row?.deadlocks)
}
