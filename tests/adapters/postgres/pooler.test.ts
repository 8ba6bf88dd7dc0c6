import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseRefused } from '../../../src/adapters/postgres/connection/database-refused.ts'
import { isTransactionPooler } from '../../../src/adapters/postgres/connection/transaction-pooler.ts'
import { migrate } from '../../../src/adapters/postgres/migrations.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { hasPgBouncer, openPgBouncer, type PgBouncer } from '../../support/pgbouncer.ts'
import { type RunningApp, startApp } from '../../support/running-app.ts'

const skip = hasPgBouncer() ? false : 'pgbouncer is not on this machine'
const LEASE_MS = 1000

describe('Behind a transaction pooler', { skip }, () => {
  let database: TestDatabase
  let pooler: PgBouncer
  before(async () => {
    database = await createTestDatabase()
    pooler = await openPgBouncer(database.url)
  })
  after(async () => {
    await pooler.close()
    await database.drop()
  })
  const start = (env: Record<string, string>): Promise<RunningApp> =>
    startApp({ database, env: { DATABASE_URL: pooler.url, DATABASE_PREPARED: 'off', ...env } })

  it('a pooler is distinguished from a server', async () => {
    assert.equal(await isTransactionPooler(pooler.url), true)
    assert.equal(await isTransactionPooler(database.url), false)
  })

  // Public case 039
  it('a migration is refused in one line', async () => {
    const empty = await createTestDatabase({ migrated: false })
    const before = await openPgBouncer(empty.url)
    try {
      await assert.rejects(migrate({ url: before.url }), (error: Error) => {
        assert.ok(error instanceof DatabaseRefused)
        assert.match(
          error.message,
          /^The database is behind a transaction pooler: set DATABASE_DIRECT_URL .*\.$/,
        )
        return true
      })
      assert.equal((await migrate({ url: empty.url })).length > 0, true)
    } finally {
      await before.close()
      await empty.drop()
    }
  })

  it('a pooler with one session is recognized, and does not wait for itself', async (t) => {
    const small = await openPgBouncer(database.url, { sessions: 1 })
    t.after(() => small.close())
    const beganMs = performance.now()
    assert.deepEqual(
      [await isTransactionPooler(small.url), await isTransactionPooler(small.url, 1000)],
      [true, true],
    )
    // Without a limit, it takes the two minutes of the pooler's query_wait_timeout.
    assert.ok(performance.now() - beganMs < 100_000)
  })

  for (const [name, env] of [
    ['with a direct address', () => ({ DATABASE_DIRECT_URL: database.url })],
    ['without a direct address', () => ({})],
  ] as const) {
    it(`a logout on one instance is applied by the other before its response, ${name}`, async () => {
      const [one, other] = [await start(env()), await start(env())]
      try {
        const { email } = await one.addCustomer({ email: `${randomUUID()}@example.com` })
        await sleep(LEASE_MS)
        for (let round = 0; round < 5; round += 1) {
          const token = await one.login(email)
          for (let use = 0; use < 3; use += 1) {
            assert.equal((await other.call('/api/me', { token })).status, 200)
          }
          assert.equal((await one.call('/api/logout', { token })).status, 200)
          assert.equal((await other.call('/api/me', { token })).status, 401)
        }
      } finally {
        await one.close()
        await other.close()
      }
    })
  }
})
