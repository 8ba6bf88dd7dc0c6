import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { route } from '../../src/adapters/http/routing/route.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'

let app: RunningApp
before(async () => {
  app = await startApp({
    routes: () => [
      route('GET /reports', { auth: 'customer', abilities: ['orders:read'], handle: () => ({}) }),
    ],
  })
  await app.addCustomer({ email: 'ana@example.com' })
})
after(() => app.close())

/** Inserts a token of Ana's with these abilities by SQL and returns its secret. `expires` is an SQL expression. */
async function insertToken(abilities: readonly string[], expires = 'null'): Promise<string> {
  const { secret, digest } = tokenSecrets({ prefix: 'lk' }).issue()
  await app.database.sql(
    `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at)
     select gen_random_uuid(), id, 'bot', decode($1, 'hex'), $2, now(), ${expires}
     from customers where email = 'ana@example.com'`,
    [digest, abilities],
  )
  return secret
}

describe('a token', () => {
  // Public case 035
  test('authenticates when it is one of 2,000', async () => {
    const secrets = await Promise.all(
      Array.from({ length: 2000 }, () => tokenSecrets({ prefix: 'lk' }).issue()),
    )
    await app.database.sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
       select gen_random_uuid(), c.id, 'bot', decode(d, 'hex'), '{}', now()
       from customers c, unnest($1::text[]) d where c.email = 'ana@example.com'`,
      [secrets.map(({ digest }) => digest)],
    )
    for (let i = 0; i < secrets.length; i += 50) {
      const responses = await Promise.all(
        secrets.slice(i, i + 50).map(({ secret }) => app.call('/api/me', { token: secret })),
      )
      assert.ok(responses.every(({ status }) => status === 200))
    }
  })

  // Public case 040
  test('with a name survives logouts and logins, and cannot log out', async () => {
    const named = await insertToken(['*'])
    const { email } = await app.addCustomer()
    const stranger = await app.login(email)
    const { status } = await app.call('/api/logout', { token: await app.login('ana@example.com') })
    assert.equal(status, 200)
    await app.login('ana@example.com')
    await app.login('ana@example.com')
    assert.equal((await app.call('/api/me', { token: named })).status, 200)
    assert.equal((await app.call('/api/logout', { token: named })).status, 403)
    assert.equal((await app.call('/api/me', { token: named })).status, 200)
    assert.equal((await app.call('/api/me', { token: stranger })).status, 200)
  })

  // Public case 041, case 048
  test('has its abilities compared exactly, from the database and from the cache', async () => {
    const many = Array.from({ length: 5000 }, (_, i) => `a${i}:read`)
    for (const [abilities, status] of [
      [[], 403],
      [['*'], 200],
      [['orders:read'], 200],
      [['Orders:Read'], 403],
      [['orders:*'], 200],
      [['orders'], 403],
      [['orders:reader'], 403],
      [many, 403],
      [[...many, 'orders:read'], 200],
    ] as const) {
      const named = await insertToken(abilities)
      for (let i = 0; i < 2; i++)
        assert.equal((await app.call('/api/reports', { method: 'GET', token: named })).status, status)
    }
    const token = await app.login('ana@example.com')
    assert.equal((await app.call('/api/me', { token: SERVICE_SECRET })).status, 401)
    assert.equal((await app.call('/api/status', { method: 'GET', token })).status, 401)
  })

  // Public case 050
  test('of a login expires after the configured time, in any unit', async () => {
    for (const TOKEN_TTL of ['60m', '1h']) {
      const other = await startApp({ database: app.database, env: { TOKEN_TTL } })
      const beganMs = Date.now()
      const body = { email: 'ana@example.com', password: PASSWORD }
      const expiresAtMs = Date.parse((await other.call('/api/login', { body })).body.expires_at)
      await other.close()
      assert.ok(expiresAtMs >= beganMs + 3_600_000, TOKEN_TTL)
      assert.ok(expiresAtMs <= Date.now() + 3_600_000, TOKEN_TTL)
    }
  })

  // Public case 051
  test('keeps its stored expiry when the setting changes', async () => {
    const [late, gone, never] = [
      await insertToken([], `now() + interval '1 year'`),
      await insertToken([], `now() - interval '1 second'`),
      await insertToken([]),
    ]
    for (const TOKEN_TTL of ['1m', '100d']) {
      const other = await startApp({ database: app.database, env: { TOKEN_TTL } })
      const statuses = await Promise.all(
        [late, gone, never].map(async (secret) => (await other.call('/api/me', { token: secret })).status),
      )
      assert.deepEqual(statuses, [200, 401, 200])
      await other.close()
    }
  })

  // Public case 056
  test('with a golden secret and hash authenticates', async () => {
    await app.database.sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
       select gen_random_uuid(), id, 'golden', decode('d9c73349611964df0f866878883716ed54adfd765e9bac1d509ef00a89150160', 'hex'), '{}', now()
       from customers where email = 'ana@example.com'`,
    )
    assert.equal(
      (await app.call('/api/me', { token: 'lk_0123456789ABCDEFGHIJabcdefghijKLMNOPQRST2m5ATr' })).status,
      200,
    )
  })

  // Public case 073
  test('of a customer deleted by SQL gets 401, cached or not', async () => {
    const { email, id } = await app.addCustomer()
    const secret = await app.login(email)
    await app.call('/api/me', { token: secret })
    await app.database.sql('delete from customers where id = $1', [id])
    const logout = await app.call('/api/logout', { token: secret })
    assert.equal(logout.status, 401)
    await sleep(1000)
    assert.equal((await app.call('/api/me', { token: secret })).status, 401)
    assert.deepEqual(await app.database.sql('select from login_tokens where customer_id = $1', [id]), [])
  })
})

describe('the cache', () => {
  // Public case 046, case 049
  test('stores nothing when it is off, and every token is still served when it is full', async (t) => {
    const off = await startApp({ database: app.database, env: { TOKEN_CACHE_TTL: '0s' } })
    t.after(() => off.close())
    const secret = await insertToken([])
    assert.equal((await off.call('/api/me', { token: secret })).status, 200)
    await app.database.sql(
      `update login_tokens set revoked_at = now() where token_hash = sha256(convert_to($1, 'UTF8'))`,
      [secret],
    )
    assert.equal((await off.call('/api/me', { token: secret })).status, 401)

    const small = await startApp({ database: app.database, env: { TOKEN_CACHE_MAX: '100' } })
    t.after(() => small.close())
    const secrets: string[] = []
    // In sequence: each insert opens a connection, and the server allows 100 for all tests.
    while (secrets.length < 101) secrets.push(await insertToken([]))
    for (const each of [...secrets, secrets[0] ?? ''])
      assert.equal((await small.call('/api/me', { token: each })).status, 200)
  })
})
