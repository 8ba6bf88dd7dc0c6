import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import * as v from 'valibot'
import { ConfigurationRefused } from '../../src/adapters/config/configuration-refused.ts'
import { route } from '../../src/adapters/http/routing/route.ts'
import { tokenSecrets } from '../../src/adapters/node-crypto/token-secrets.ts'
import { createTestApp, type TestApp, type TestAppOptions } from '../../src/package/testing.ts'

const HOUR_MS = 3_600_000
const apps: TestApp[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

async function startTestApp(options?: TestAppOptions): Promise<TestApp> {
  const app = await createTestApp(options)
  apps.push(app)
  return app
}

const ORDERS: TestAppOptions['routes'] = () => [
  route('POST /orders', {
    auth: 'customer',
    abilities: ['orders:write'],
    body: v.object({ sku: v.string() }),
    status: 201,
    handle: ({ customer, body }) => ({ ordered_by: customer.email, ...body }),
  }),
  route('GET /faults', {
    auth: 'service',
    handle: () => {
      throw new TypeError('a fault of the handler')
    },
  }),
]

describe('A test app', () => {
  it('returns the custom response of me', async () => {
    const returns = v.object({ email: v.string(), bot: v.boolean() })
    const app = await startTestApp({
      me: {
        returns,
        present: ({ customer, token }) => ({ email: customer.email, bot: token.name !== 'login' }),
      },
    })
    const ana = await app.customer({ email: 'ana@example.com' })
    const { body } = await (await app.as(ana, { abilities: [] })).call('/api/me')
    assert.deepEqual(body, { success: true, email: 'ana@example.com', bot: true })
  })

  it('returns text as text', async () => {
    const app = await startTestApp({ settings: { OPS: 'on' } })
    const { status, body } = await app.asService().call('/ops', { method: 'GET' })
    assert.deepEqual([status, body.slice(0, 15)], [200, '<!doctype html>'])
  })

  it('limits unknown tokens by address', async () => {
    const app = await startTestApp()
    const unknown = tokenSecrets({ prefix: 'lk' })
    const present = async () => (await app.call('/api/me', { token: unknown.issue().secret })).status
    for (let i = 0; i < 100; i++) assert.equal(await present(), 401)
    assert.equal(await present(), 429)
    app.clock.advance(1000)
    assert.equal(await present(), 401)
  })

  it('calls custom routes as a customer with or without the ability', async () => {
    const app = await startTestApp({ routes: ORDERS })
    const ana = await app.customer({ email: 'ana@example.com' })
    const writer = await app.as(ana, { abilities: ['orders:write'] })
    const reader = await app.as(ana, { abilities: ['orders:read'] })
    const body = { sku: 'a' }
    const { status, body: order } = await writer.call('/api/orders', { body })
    assert.deepEqual([status, order], [201, { success: true, ordered_by: 'ana@example.com', sku: 'a' }])
    assert.equal((await reader.call('/api/orders', { body })).body.reason, 'insufficient_scope')
    assert.equal((await writer.call('/api/orders', { body: {} })).body.reason, 'validation_failed')
    assert.equal((await writer.call('/api/orders', { body: '{' })).body.reason, 'invalid_json')
    assert.equal((await app.call('/api/orders', { body })).body.reason, 'missing_token')
  })

  it('creates tokens with the use case of the service', async () => {
    const app = await startTestApp()
    const ana = await app.customer()
    const { secret } = await app.as(ana, { abilities: ['a:b'], name: 'bot', expiresAtMs: null })
    assert.match(secret, /^lk_[0-9A-Za-z]{46}$/)
    assert.deepEqual(
      app.audit.map(({ event, tokenName }) => [event, tokenName]),
      [
        ['customer.added', undefined],
        ['token.issued', 'bot'],
      ],
    )
    await assert.rejects(app.as(ana, { abilities: ['not an ability'] }))
    await app.useCases.customers.disable(ana.id, app.useCases.deadline())
    await assert.rejects(app.as(ana, { abilities: [] }), /disabled or deleted/)
  })

  it('is the real service, where a customer logs in, calls me and logs out', async () => {
    const app = await startTestApp()
    const { email, password } = await app.customer()
    const { body } = await app.call('/api/login', { body: { email, password } })
    const { token } = body
    for (let times = 0; times < 2; times += 1)
      assert.equal((await app.call('/api/me', { token })).body.customer.email, email)
    assert.equal((await app.call('/api/logout', { token })).status, 200)
    assert.equal((await app.call('/api/me', { token })).body.reason, 'invalid_token')
    assert.equal((await app.call('/readyz', { method: 'GET' })).status, 200)
  })

  it('is called at its own address, whatever address its documentation names', async () => {
    const app = await startTestApp({ settings: { PUBLIC_URL: 'https://api.example.com' } })
    assert.match(app.url, /^http:\/\/127\.0\.0\.1:\d+$/)
    const { body } = await app.call('/openapi.json', { method: 'GET' })
    assert.equal(body.servers[0].url, 'https://api.example.com')
  })

  it('has the metrics of the service', async () => {
    const app = await startTestApp()
    await (await app.as(await app.customer(), { abilities: [] })).call('/api/me')
    const { body } = await app.asService().call('/metrics', { method: 'GET' })
    assert.match(body, /^latchkey_active_tokens 1$/m)
    assert.match(body, /^latchkey_token_validations_total\{source="database"\} 1$/m)
  })

  it('runs beside more test apps than an event of the process may have listeners', async (t) => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    t.after(() => process.off('warning', onWarning))
    const listeners = process.listenerCount('exit')
    for (let started = 0; started < 11; started++) await startTestApp()
    for (const app of apps.splice(0)) await app.close()
    assert.deepEqual(warnings, [])
    assert.equal(process.listenerCount('exit'), listeners)
  })

  it('authenticates a service token as a service, not as a customer', async () => {
    const app = await startTestApp()
    assert.equal((await app.asService().call('/api/status', { method: 'GET' })).body.online, true)
    assert.equal((await app.asService().call('/api/me')).status, 401)
    const own = 'a-secret-of-our-own-0123456789-0123456789'
    const another = await startTestApp({ settings: { SERVICE_TOKENS: `monitor=${own}` } })
    assert.equal(another.asService().secret, own)
  })

  it('expires a token at its millisecond when the clock is moved, cached or not', async () => {
    for (const TOKEN_CACHE_TTL of ['60s', '0s']) {
      const app = await startTestApp({ settings: { TOKEN_CACHE_TTL } })
      const expiresAtMs = app.clock.nowMs() + HOUR_MS
      const bot = await app.as(await app.customer(), { abilities: ['*'], expiresAtMs })
      for (const [ms, status] of [
        [0, 200],
        [HOUR_MS - 1, 200],
        [1, 401],
      ] as const) {
        app.clock.advance(ms)
        assert.equal((await bot.call('/api/me')).status, status)
      }
    }
  })

  it('applies the login limits until the clock is moved past them', async () => {
    const app = await startTestApp({ settings: { LOGIN_LIMIT_ACCOUNT: '3/15m' } })
    const { email, password } = await app.customer()
    const login = async (attempt: string) =>
      (await app.call('/api/login', { body: { email, password: attempt } })).status
    const guesses = await Promise.all(Array.from({ length: 8 }, () => login('wrong')))
    assert.deepEqual(guesses.toSorted(), [401, 401, 401, 429, 429, 429, 429, 429])
    assert.equal(await login(password), 429)
    app.clock.advance(HOUR_MS / 4)
    assert.equal(await login(password), 200)
  })

  it('lets no request wait forever on a stopped clock', async () => {
    const app = await startTestApp({ settings: { LOGIN_LIMIT_ADDRESS: '3/15m' } })
    // The logins after the third poll again after a delay, which elapses only on the machine's clock.
    const guesses = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const body = { email: `unknown-${index}@example.com`, password: 'wrong' }
        return (await app.call('/api/login', { body })).status
      }),
    )
    assert.deepEqual(guesses.toSorted(), [401, 401, 401, 429, 429, 429])
  })

  it('exposes the error that a handler threw, which no response contains', async () => {
    const app = await startTestApp({ routes: ORDERS })
    const { status, body } = await app.asService().call('/api/faults', { method: 'GET' })
    assert.deepEqual([status, body.reason], [500, 'internal'])
    const [logged] = app.logged
    assert.deepEqual([logged?.level, logged?.error, logged?.route], ['error', 'TypeError', '/api/faults'])
    const [thrown, ...others] = app.errors
    assert.ok(thrown instanceof TypeError)
    assert.deepEqual([thrown.message, others], [logged?.message, []])
  })

  it('refuses an invalid setting and a taken e-mail', async () => {
    await assert.rejects(startTestApp({ settings: { TOKEN_TTL: 'soon' } }), ConfigurationRefused)
    const app = await startTestApp({ settings: { COMMON_PASSWORDS: 'refused' } })
    await app.customer({ email: 'ana@example.com' })
    await assert.rejects(app.customer({ email: 'ANA@example.com' }), /taken/)
    await assert.rejects(app.customer({ password: 'password1' }))
  })

  it('shares nothing with other test apps', async () => {
    const [one, other] = [await startTestApp(), await startTestApp()]
    const bot = await one.as(await one.customer(), { abilities: ['*'] })
    assert.notEqual(one.url, other.url)
    assert.equal((await other.call('/api/me', { token: bot.secret })).status, 401)
  })
})

describe('A closed test app', () => {
  for (const [TOKEN_LAST_USED, writes] of [
    ['on', 'writes'],
    ['off', 'does not write'],
  ] as const) {
    it(`${writes} the last uses of tokens with TOKEN_LAST_USED=${TOKEN_LAST_USED}, and refuses connections`, async () => {
      const app = await createTestApp({ settings: { TOKEN_LAST_USED } })
      const ana = await app.customer()
      const bot = await app.as(ana, { abilities: ['*'] })
      assert.equal((await bot.call('/api/me')).status, 200)
      await app.close()
      const [token] = await app.useCases.tokens.listByCustomer(ana.id, app.useCases.deadline())
      assert.equal(token?.lastUsedAtMs, TOKEN_LAST_USED === 'on' ? app.clock.nowMs() : null)
      await assert.rejects(fetch(`${app.url}/livez`))
    })
  }
})
