import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { type DatabasePool, migrate, openPool, postgresLoginThrottle } from 'latchkey/adapters/postgres'
import { createTestApp, type TestApp } from 'latchkey/testing'
import { MAIL_LIMITS } from '../src/limits.ts'
import type { Mail } from '../src/mailer.ts'
import { createMails } from '../src/mails.ts'
import { accountRoutes } from '../src/routes.ts'

const { TEST_DATABASE_URL: url = '' } = process.env
const SKIP = 'TEST_DATABASE_URL is unset: mails were NOT COUNTED IN POSTGRESQL'

const PARALLEL = 100
/** It is long because tests run in parallel. */
const TIMEOUT_MS = 30_000

describe('The mails that are counted in PostgreSQL, beside the logins', { skip: url === '' && SKIP }, () => {
  // The database may have counted earlier mails.
  const address = `198.18.${randomInt(256)}.${randomInt(256)}`
  const sent: Mail[] = []
  let pool: DatabasePool
  let app: TestApp
  before(async () => {
    await migrate({ url })
    pool = openPool({ url, max: 5, prepared: true, onEvent() {} })
    app = await createTestApp({
      settings: { TRUST_PROXY: '1' },
      routes: (useCases) =>
        accountRoutes({
          useCases,
          mails: createMails('https://shop.example'),
          send: async (mail) => void sent.push(mail),
          throttle: postgresLoginThrottle(pool, MAIL_LIMITS),
        }),
    })
  })
  after(async () => {
    await app?.close()
    await pool?.close()
  })

  /** Sends parallel requests. Returns the number of accepted ones, once their mails are sent. */
  async function accepted(path: string, email: (index: number) => string): Promise<number> {
    sent.length = 0
    const calls = Array.from({ length: PARALLEL }, (_, index) =>
      app.call(path, { body: { email: email(index) }, headers: { 'X-Forwarded-For': address } }),
    )
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    for (const status of statuses) assert.ok([200, 429, 503].includes(status), `${status}`)
    const count = statuses.filter((status) => status === 200).length
    while (sent.length < count) await new Promise((resolve) => setTimeout(resolve, 1))
    return count
  }

  it('are three to an e-mail, of 100 parallel requests', async () => {
    const { email } = await app.customer()
    assert.equal(await accepted('/api/password/forgotten', () => email), 3)
    assert.deepEqual(
      sent.map(({ to }) => to),
      Array(3).fill(email),
    )
  })

  it('are twenty from an address, and are not counted as its failed logins', async () => {
    // With the three above.
    assert.equal(await accepted('/api/sign-up', () => `${randomUUID()}@example.com`), 17)
    assert.equal(sent.length, 17)
    const logins = postgresLoginThrottle(pool, { ...MAIL_LIMITS, loginLimitAccount: null })
    const attempt = { account: 'ana@example.com', address }
    const admission = await logins.take(attempt, TIMEOUT_MS)
    assert.ok(admission.kind === 'taken', JSON.stringify(admission))
    await logins.settle(admission.slot, 'undecided', TIMEOUT_MS)
  })
})
