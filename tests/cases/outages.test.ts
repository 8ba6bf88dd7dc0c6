import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { createTestDatabase } from '../support/database.ts'
import { PASSWORD, type RunningApp, startApp } from '../support/running-app.ts'
import { openTcpProxy } from '../support/tcp-proxy.ts'

/** Longer than every timeout in these tests, even on a busy machine. A wait that takes longer has no timeout. */
const ENDLESS_MS = 30_000
/** The listener and publisher connections beside the pool. */
const INVALIDATION_CONNECTIONS = 2

let app: RunningApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const anUnknownToken = (prefix = 'lk') => tokenSecrets({ prefix }).issue().secret
const newToken = async () => app.login((await app.addCustomer()).email)
const findLogLines = ({ logLines }: RunningApp, pattern: RegExp) =>
  logLines.filter((line) => pattern.test(line))

describe('an outage', () => {
  // Public case 070
  test('that closes every idle connection fails at most one call and logs one warning', async (t) => {
    const env = { TOKEN_CACHE_TTL: '0s', DATABASE_POOL_MAX: '1' }
    const one = await startApp({ env })
    t.after(() => one.close())
    const token = await one.login((await one.addCustomer()).email)
    let refusals = 0
    for (let round = 1; round <= 3; round++) {
      assert.equal((await one.call('/api/me', { token })).status, 200)
      await one.database.sql(
        `select pg_terminate_backend(pid, ${ENDLESS_MS}) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      )
      const first = await one.call('/api/me', { token })
      assert.ok(first.status === 200 || first.status === 503, `${first.status}`)
      if (first.status === 503) refusals += 1
      assert.equal((await one.call('/api/me', { token })).status, 200)
      const warnings = findLogLines(one, /"level":"warn".*database\.connection_lost/).length
      // A request that is using the lost connection gets the error instead of the log.
      assert.ok(
        warnings <= round && warnings + refusals >= round,
        `${warnings} warnings, ${refusals} refusals`,
      )
    }
    assert.deepEqual(findLogLines(one, /"level":"error"/), [])
  })

  // Public case 071
  test('of a frozen server gives 503 to 50 parallel calls and leaves no connections behind', async (t) => {
    const database = await createTestDatabase()
    const proxy = await openTcpProxy(database.url)
    const env = { TOKEN_CACHE_TTL: '0s', DATABASE_POOL_MAX: '4' }
    const away = await startApp({ database, env: { ...env, DATABASE_URL: proxy.url } })
    t.after(async () => {
      proxy.thaw()
      await away.close()
      await proxy.close()
      await database.drop()
    })
    const token = await away.login((await away.addCustomer()).email)
    assert.equal((await away.call('/api/me', { token })).status, 200)

    proxy.freeze()
    const beganMs = performance.now()
    const responses = await Promise.all(Array.from({ length: 50 }, () => away.call('/api/me', { token })))
    const tookMs = performance.now() - beganMs
    assert.ok(tookMs < ENDLESS_MS, `${tookMs} ms`)
    for (const { status, headers, body } of responses) {
      assert.deepEqual([status, headers.get('retry-after'), body.reason], [503, '1', 'unavailable'])
    }
    assert.ok(away.pool.size() <= 4)

    proxy.thaw()
    const thawedMs = performance.now()
    while ((await away.call('/api/me', { token })).status !== 200) {
      assert.ok(performance.now() - thawedMs < ENDLESS_MS, 'the service does not recover')
      await sleep(20)
    }
    t.diagnostic(
      `refused after ${Math.round(tookMs)} ms, served ${Math.round(performance.now() - thawedMs)} ms after`,
    )
    const backends = async () =>
      (
        await database.sql(
          'select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        )
      ).length
    while ((await backends()) > 4 + INVALIDATION_CONNECTIONS) {
      assert.ok(performance.now() - thawedMs < ENDLESS_MS, `${await backends()} backends are left`)
      await sleep(20)
    }
  })

  // Public case 072
  test('gives 503 to a login and a valid or unknown token, and 401 to a wrong checksum or a missing token', async (t) => {
    const secret = await newToken()
    const { email } = await app.addCustomer()
    const proxy = await openTcpProxy(app.database.url)
    t.after(() => proxy.close())
    const away = await startApp({ database: app.database, env: { DATABASE_URL: proxy.url } })
    t.after(async () => {
      proxy.thaw()
      await away.close()
    })
    assert.equal((await away.call('/api/me', { token: await newToken() })).status, 200)
    proxy.freeze()
    for (const [presented, status] of [
      [secret, 503],
      [anUnknownToken(), 503],
      [`${secret.slice(0, -1)}!`, 401],
      [null, 401],
    ] as const) {
      assert.equal((await away.call('/api/me', { token: presented })).status, status)
    }
    const body = { email, password: PASSWORD }
    assert.equal((await away.call('/api/login', { body })).status, 503)
  })
})

describe('the report of a failure', () => {
  // Public case 096
  test('never holds a token or a password sent in a wrong field', async () => {
    const pasted = 'hunter2!'
    const elsewhere = anUnknownToken('prod')
    const login = (body: object) => app.call('/api/login', { body })
    const responses = [
      await app.call('/api/me', { token: elsewhere }),
      await login({ email: pasted, password: elsewhere }),
      await login({ email: elsewhere, password: pasted }),
      await login({ email: `${pasted}\u0007`, password: pasted }),
      await login({ email: pasted.repeat(40), password: `${pasted}\u0000` }),
      await login({ email: [pasted], password: { [elsewhere]: pasted } }),
    ]
    assert.deepEqual(
      responses.map(({ status }) => status),
      [401, 401, 401, 422, 422, 422],
    )
    const output = responses.map(({ body }) => JSON.stringify(body)).join('\n') + app.logLines.join('')
    for (const text of [pasted, elsewhere, elsewhere.slice(0, 12)])
      assert.equal(output.includes(text), false, text)
  })

  // Public case 097
  test('never holds the statement or the values of a database error', async (t) => {
    const body = { email: 'hunter2@example.com', password: 'hunter2!' }
    const login = () => app.call('/api/login', { body, headers: { 'X-Request-Id': 'find-me' } })
    const failure = (status: number, sentence: string, reason: string) => ({
      success: false,
      code: status,
      error: sentence,
      reason,
      request_id: 'find-me',
    })
    const holder = new Client({ connectionString: app.database.url })
    await holder.connect()
    t.after(() => holder.end())

    await holder.query('alter table customers rename column password_hash to renamed')
    const bug = await login().finally(() =>
      holder.query('alter table customers rename column renamed to password_hash'),
    )
    assert.deepEqual(bug.body, failure(500, 'Something went wrong on our side.', 'internal'))

    // The lock blocks every reader, so the server cancels the statement at its timeout.
    await holder.query('begin')
    await holder.query('lock table customers in access exclusive mode')
    const late = await login().finally(() => holder.query('rollback'))
    const again = 'The service cannot respond right now. Please try again.'
    assert.deepEqual(late.body, failure(503, again, 'unavailable'))
    assert.equal((await app.call('/api/login', { body: { ...body, email: '\ud800' } })).status, 422)

    const lines = findLogLines(app, /find-me/).map((line) => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ level, event }) => [level, event]),
      [
        ['error', 'request.failed'],
        ['warn', 'request.failed'],
      ],
    )
    assert.equal(lines[0].code, '42703')
    for (const line of lines) {
      const names = 'code error event level message method request_id route stack time'.split(' ')
      assert.deepEqual(
        Object.keys(line).filter((name) => !names.includes(name)),
        [],
      )
      assert.doesNotMatch(JSON.stringify(line), /hunter2|select |renamed/)
    }
  })
})
