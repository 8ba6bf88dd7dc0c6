import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { openPool } from '../../../src/adapters/postgres/connection/pool.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'
import { type RunningApp, startApp } from '../../support/running-app.ts'
import { postgresAlone } from '../../support/sqlite.ts'
import { until } from '../../support/until.ts'

const LOGINS = 40

describe('A stricter isolation level of the database', { skip: postgresAlone }, () => {
  for (const level of ['repeatable read', 'serializable']) {
    it(`${level} causes no serialization failure in ${LOGINS} parallel logins, of one customer and of several`, async () => {
      const app = await startApp({
        env: { LOGIN_LIMIT_ACCOUNT: '100/15m', LOGIN_LIMIT_ADDRESS: '100/15m' },
      })
      try {
        await setOnDatabase(app, `default_transaction_isolation = '${level}'`)
        const customers = await Promise.all(Array.from({ length: 4 }, () => app.addCustomer()))
        const statuses = await Promise.all(
          Array.from({ length: LOGINS }, async (_, n) => {
            const email = customers[n % 2 === 0 ? 0 : n % 4]?.email
            const { status } = await app.call('/api/login', { body: { email, password: 'correct horse 9' } })
            return status
          }),
        )
        assert.ok(statuses.includes(200))
        // A busy machine may exceed the deadline of a request, which is another cause of a 503.
        assert.deepEqual(
          app.logLines.filter((line) => line.includes('"code":"40001"')),
          [],
        )
      } finally {
        await app.close()
      }
    })
  }
})

describe('The settings of a role or an address', { skip: postgresAlone }, () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
  })
  after(() => stores.close())

  it('do not reach the connections of the pool when they would break the service', async () => {
    const url = new URL(stores.database.url)
    const options = {
      synchronous_commit: 'off',
      idle_session_timeout: '1s',
      default_transaction_isolation: 'serializable',
      search_path: 'nowhere',
    }
    url.searchParams.set(
      'options',
      Object.entries(options)
        .map(([name, value]) => `-c ${name}=${value}`)
        .join(' '),
    )
    const pool = openPool({ url: url.href, max: 1, prepared: true, onEvent: () => {} })
    try {
      const { rows } = await pool.run(1000, (session) =>
        session.query(
          {
            name: 'test_settings',
            text: 'select name, current_setting(name) as value from unnest($1::text[]) as name',
          },
          [Object.keys(options)],
        ),
      )
      assert.deepEqual(Object.fromEntries(rows.map(({ name, value }) => [name, value])), {
        synchronous_commit: 'on',
        idle_session_timeout: '0',
        default_transaction_isolation: 'read committed',
        search_path: 'public, pg_temp',
      })
    } finally {
      await pool.close()
    }
  })

  it('do not close the connections of the listener and the heartbeat while they are idle', async () => {
    const app = await startApp()
    try {
      await setOnDatabase(app, "idle_session_timeout = '100ms'")
      const long = "application_name in ('latchkey listener', 'latchkey heartbeat')"
      const pids = async () =>
        (
          await app.database.sql<{ pid: number }>(
            `select pid from pg_stat_activity where datname = current_database() and ${long} order by pid`,
          )
        ).map(({ pid }) => pid)
      const earlier = await pids()
      await app.database.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${long}`,
      )
      let connected: readonly number[] = []
      await until(async () => {
        connected = await pids()
        return connected.length === 2 && connected.every((pid) => !earlier.includes(pid))
      })
      const beganAt = (await app.database.sql<{ now: Date }>('select now()'))[0]?.now
      // Four times the timeout, by the clock of the server.
      await until(
        async () =>
          (await app.database.sql(`select where now() > $1::timestamptz + interval '400ms'`, [beganAt]))
            .length > 0,
      )
      assert.deepEqual(await pids(), connected)
    } finally {
      await app.close()
    }
  })
})

describe('A text with a NUL character', { skip: postgresAlone }, () => {
  it('is rejected with the error of PostgreSQL, because a retry does not help', async () => {
    const stores = await openPostgresStores()
    try {
      const insert = { name: 'test_nul', text: 'select $1::text as text' }
      await assert.rejects(
        stores.pool.run(1000, (session) => session.query(insert, ['a\0b'])),
        { code: '22021', message: /invalid byte sequence/ },
      )
    } finally {
      await stores.close()
    }
  })
})

async function setOnDatabase(app: RunningApp, setting: string): Promise<void> {
  const name = new URL(app.database.url).pathname.slice(1)
  await app.database.sql(`alter database ${name} set ${setting}`)
  await app.database.sql(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'latchkey'",
    [name],
  )
}
