import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabasePool } from '../../../src/adapters/postgres/connection/pool.ts'
import type { Session } from '../../../src/adapters/postgres/connection/session.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { deferred } from '../../support/fakes.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'
import { rounds } from '../../support/rounds.ts'
import { until } from '../../support/until.ts'

const MAX = 3
const PID = { name: 'test_pid', text: 'select pg_backend_pid() as pid' }
const SLEEP = { name: 'test_sleep', text: 'select pg_sleep($1)' }

describe('The pool', () => {
  let stores: PostgresStores
  let pool: DatabasePool
  before(async () => {
    stores = await openPostgresStores({ max: MAX })
    pool = stores.pool
  })
  after(() => stores.close())

  it('sets the timeouts of each session on the server too', async () => {
    const settings = await pool.run(1000, async (session) => {
      const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
      const { rows } = await session.query(
        {
          name: 'test_settings',
          text: 'select current_setting(name) as value from unnest($1::text[]) as name',
        },
        [names],
      )
      return rows.map(({ value }) => value)
    })
    assert.deepEqual(settings, ['900ms', '800ms', '2s'])
  })

  it('reuses a connection after an error that does not concern the connection', async () => {
    const pid = await pidOf(pool)
    const failing: readonly [text: string, code: string][] = [
      ['select no_such_column from login_tokens', '42703'],
      ['select 1 / 0', '22012'],
      [
        "insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at) values ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002', 'x', repeat('x', 32)::bytea, '{}', now())",
        '23503',
      ],
    ]
    for (const [text, code] of failing) {
      const query = (session: Session) => session.query({ name: `test_${code}`, text }, [])
      await assert.rejects(pool.run(1000, query), { code })
      await assert.rejects(
        pool.run(1000, (session) => session.transaction(() => query(session))),
        { code },
      )
    }
    await assert.rejects(
      pool.run(3000, (session) => session.query(SLEEP, [2])),
      causedBy('57014'),
    )
    await assert.rejects(
      pool.run(1000, () => Promise.reject(new TypeError('a bug'))),
      TypeError,
    )
    assert.equal(await pidOf(pool), pid)
  })

  it('leaves no transaction open after a failure', async () => {
    const failure = new Error('after the first statement')
    const work = (session: Session) =>
      session.transaction(async () => {
        await session.query({ name: 'test_insert', text: ADD_SOMEBODY }, ['half@example.com'])
        throw failure
      })
    await assert.rejects(pool.run(1000, work), failure)
    assert.deepEqual(await stores.database.sql("select from customers where email = 'half@example.com'"), [])
    const state =
      'select count(*)::int as open from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()'
    assert.deepEqual(await stores.database.sql(state), [{ open: 0 }])
  })

  it('waits no longer than its timeout, and drops the connection on which it waited', async () => {
    const pid = await pidOf(pool)
    await assert.rejects(
      pool.run(200, (session) => session.query(SLEEP, [30])),
      TIME_UP,
    )
    assert.equal(pool.connections().used, 0)
    assert.notEqual(await pidOf(pool), pid)
    // The caller no longer waits for the query, and the server cancels it too.
    const running =
      "select pid from pg_stat_activity where state = 'active' and query like '%pg_sleep%' and datname = current_database() and pid <> pg_backend_pid()"
    await until(async () => (await stores.database.sql(running)).length === 0)
  })

  it('counts the time in its queue toward the timeout, and recovers after it was exhausted', async () => {
    const held = deferred<void>()
    let taken = 0
    const busy = Array.from({ length: MAX }, () =>
      pool.run(60_000, () => {
        taken += 1
        return held.promise
      }),
    )
    await until(() => taken === MAX)
    const waiting = Array.from({ length: 20 }, () =>
      assert.rejects(
        pool.run(200, (session) => session.query(PID, [])),
        TIME_UP,
      ),
    )
    await Promise.all(waiting)
    held.resolve()
    await Promise.all(busy)
    assert.equal(pool.size(), MAX)
    const pids = await Promise.all(Array.from({ length: 20 }, () => pidOf(pool)))
    assert.ok(new Set(pids).size <= MAX)
  })

  // Public case 070
  it('survives a client that is killed while idle', async () => {
    const pid = await pidOf(pool)
    await killBackends(stores)
    await sleep(100)
    assert.notEqual(await pidOf(pool), pid)
    assert.ok(stores.events.some(({ kind }) => kind === 'connection_lost'))
  })

  it('rejects with Unavailable when a client is killed while checked out, and survives', async () => {
    const lost = pool.run(1000, (session) => session.query(SLEEP, [0.8]))
    const lostBetween = pool.run(1000, (session) =>
      session.transaction(async () => {
        await session.query(PID, [])
        await sleep(300)
        return session.query(PID, [])
      }),
    )
    const refusals = [assert.rejects(lost, Unavailable), assert.rejects(lostBetween, Unavailable)]
    await sleep(150)
    await killBackends(stores)
    await Promise.all(refusals)
    assert.equal(typeof (await pidOf(pool)), 'number')
  })

  // Proof row H4
  it('either resolves or rejects with Unavailable while its clients are killed', async (t) => {
    const kills = rounds('H4', 30)
    let isOver = false
    let responded = 0
    let refused = 0
    const load = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        try {
          await pidOf(pool)
          responded += 1
        } catch (error) {
          assert.ok(error instanceof Unavailable, `${error}`)
          refused += 1
          await sleep(1)
        }
        assert.ok(pool.size() <= MAX)
      }
    })
    for (let kill = 0; kill < kills; kill += 1) {
      await killBackends(stores)
      await sleep(50)
    }
    isOver = true
    await Promise.all(load)
    await pidOf(pool)
    assert.ok(responded > 0 && refused > 0)
    t.diagnostic(`H4: ${kills} kills, ${responded} responses, ${refused} refusals, 0 other errors`)
  })

  it('prepares statements, unless a pooler breaks them', async () => {
    const named = {
      name: 'test_named',
      text: "select count(*)::int as count from pg_prepared_statements where name = 'test_named'",
    }
    const count = async (on: DatabasePool) =>
      (await on.run(1000, (session) => session.query(named, []))).rows[0]?.count
    assert.equal(await count(pool), 1)
    const without = await openPostgresStores({ prepared: false })
    assert.equal(await count(without.pool), 0)
    await without.close()
  })
})

/** What is refused by the caller's own clock, and not by the server's. */
const TIME_UP = (error: unknown) =>
  error instanceof Unavailable &&
  /^The database did not respond within 200 ms/.test(`${(error.cause as Error).message}`)

const ADD_SOMEBODY = 'insert into customers (id, email, created_at) values (gen_random_uuid(), $1, now())'

async function pidOf(pool: DatabasePool): Promise<unknown> {
  return pool.run(1000, async (session) => (await session.query(PID, [])).rows[0]?.pid)
}

async function killBackends({ database }: PostgresStores): Promise<void> {
  await database.sql(
    'select pg_terminate_backend(pid, 30000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
}

function causedBy(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Unavailable && (error.cause as { code?: string }).code === code
}
