import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp, type TestAppOptions } from '../../../src/testing/test-app.ts'
import { type TestCustomer, testCaller } from '../../../src/testing/test-clients.ts'

const NEW_PASSWORD = 'another horse 10'
const MINUTE_MS = 60_000

let app: TestApp

afterEach(() => app.close())

async function start(settings: TestAppOptions['settings'] = {}, options: TestAppOptions = {}) {
  app = await createTestApp({
    ...options,
    settings: { LOGIN_SESSIONS: '3', LOGIN_LIMIT_ACCOUNT: '3/15m', ...settings },
  })
  return app.customer()
}

async function logIn({ email, password }: Pick<TestCustomer, 'email' | 'password'>, device?: string) {
  const { status, body } = await app.call('/api/login', { body: { email, password, device } })
  assert.equal(status, 200, JSON.stringify(body))
  return testCaller(app.url, body.token as string)
}

const list = async (caller: Awaited<ReturnType<typeof logIn>>) => {
  const { status, body } = await caller.call('/api/sessions', { method: 'GET' })
  assert.equal(status, 200, JSON.stringify(body))
  return body.sessions as readonly Record<string, unknown>[]
}

const meStatus = async (caller: Awaited<ReturnType<typeof logIn>>) => (await caller.call('/api/me')).status

describe('Sessions', () => {
  it('are listed newest first, with their devices and without secrets', async () => {
    const customer = await start()
    const browser = await logIn(customer, 'a browser')
    app.clock.advance(1000)
    const phone = await logIn(customer)
    const sessions = await list(phone)
    const time = (agoMs: number) => new Date(app.clock.nowMs() - agoMs).toISOString()
    assert.deepEqual(
      sessions.map(({ id: _, expires_at: __, ...fields }) => fields),
      [
        { current: true, device: null, created_at: time(0), last_used_at: time(0) },
        { current: false, device: 'a browser', created_at: time(1000), last_used_at: null },
      ],
    )
    assert.ok(!JSON.stringify(sessions).includes(browser.secret))
    assert.deepEqual(
      (await list(browser)).map(({ current }) => current),
      [false, true],
    )
  })

  it('end one by one; a second time, an unknown and a stranger’s one are not found', async () => {
    const customer = await start()
    const [browser, phone] = [await logIn(customer), await logIn(customer)]
    const stranger = await logIn(await app.customer())
    const other = (await list(phone)).find(({ current }) => !current)
    const [theirs] = await list(stranger)
    const end = async (id: unknown) => {
      const { status, body } = await phone.call(`/api/sessions/${id}`, { method: 'DELETE' })
      return [status, body.reason]
    }
    assert.deepEqual(await end(other?.id), [200, undefined])
    assert.equal(await meStatus(browser), 401)
    for (const id of [other?.id, theirs?.id, '00000000-0000-4000-8000-000000000000', 'x'])
      assert.deepEqual(await end(id), [404, 'not_found'], `${id}`)
    assert.equal(await meStatus(stranger), 200)
    const [current] = await list(phone)
    assert.deepEqual(await end(current?.id), [200, undefined])
    assert.equal(await meStatus(phone), 401)
  })

  it('end all at once, or all but the current one; named tokens stay', async () => {
    const customer = await start()
    const [first, second, third] = [await logIn(customer), await logIn(customer), await logIn(customer)]
    const bot = await app.as(customer, { abilities: ['*'] })
    const endAll = async (query = '') =>
      (await third.call(`/api/sessions${query}`, { method: 'DELETE' })).body
    assert.deepEqual(await endAll('?except=current'), { success: true, revoked: 2 })
    assert.deepEqual([await meStatus(first), await meStatus(second), await meStatus(third)], [401, 401, 200])
    const { status } = await third.call('/api/sessions?except=others', { method: 'DELETE' })
    assert.equal(status, 422)
    assert.deepEqual(await endAll(), { success: true, revoked: 1 })
    assert.deepEqual([await meStatus(third), await meStatus(bot)], [401, 200])
  })

  it('and the password are closed to named tokens', async () => {
    const bot = await start().then((customer) => app.as(customer, { abilities: ['*'] }))
    const body = { current_password: 'x', new_password: NEW_PASSWORD }
    for (const [method, path, options] of [
      ['GET', '/api/sessions', {}],
      ['DELETE', '/api/sessions', {}],
      ['DELETE', '/api/sessions/00000000-0000-4000-8000-000000000000', {}],
      ['POST', '/api/password', { body }],
      ['POST', '/api/logout', {}],
    ] as const) {
      const { status, body } = await bot.call(path, { method, ...options })
      assert.deepEqual([status, body.reason], [403, 'login_token_required'], `${method} ${path}`)
    }
  })

  it('at the limit replace the oldest one', async () => {
    const customer = await start()
    const callers: Awaited<ReturnType<typeof logIn>>[] = []
    for (let count = 0; count < 5; count++) {
      app.clock.advance(1)
      callers.push(await logIn(customer))
    }
    assert.deepEqual(await Promise.all(callers.map(meStatus)), [401, 401, 200, 200, 200])
  })

  it('at the limit are refused with 409, until one ends or expires', async () => {
    const customer = await start({ LOGIN_SESSIONS: '2', LOGIN_SESSIONS_FULL: 'refuse', TOKEN_TTL: '1h' })
    const first = await logIn(customer)
    await logIn(customer)
    const refused = async () => {
      const { email, password } = customer
      const { status, body } = await app.call('/api/login', { body: { email, password } })
      return [status, body.reason]
    }
    // More often than failures are allowed: the password is right.
    for (let count = 0; count < 5; count++) assert.deepEqual(await refused(), [409, 'too_many_sessions'])
    assert.ok(app.audit.some(({ event, reason }) => event === 'login.failed' && reason === 'sessions'))
    await first.call('/api/logout')
    await logIn(customer)
    assert.deepEqual(await refused(), [409, 'too_many_sessions'])
    app.clock.advance(60 * MINUTE_MS)
    await logIn(customer)
    await logIn(customer)
    assert.deepEqual(await refused(), [409, 'too_many_sessions'])
    assert.equal(await app.useCases.customers.unlock(customer, app.useCases.deadline()), 2)
    await logIn(customer)
  })

  it('have a label of at most 100 characters', async () => {
    const { email, password } = await start()
    for (const device of ['x'.repeat(101), 7, null, 'a\u0000b']) {
      const { status, body } = await app.call('/api/login', { body: { email, password, device } })
      assert.deepEqual([status, Object.keys(body.errors as object)], [422, ['device']], `${device}`)
    }
  })

  it('are routes that a program may replace, with a line in the log', async () => {
    const mine = route('DELETE /sessions/:session', { auth: 'none', handle: () => ({ mine: true }) })
    await start({}, { routes: () => [mine] })
    const { body } = await app.call('/api/sessions/1', { method: 'DELETE' })
    assert.deepEqual(body, { success: true, mine: true })
    const lines = app.logged.filter(({ event }) => event === 'route.replaced')
    assert.deepEqual(
      lines.map(({ method, route }) => [method, route]),
      [['DELETE', '/api/sessions/:id']],
    )
  })
})

describe('A change of the password', () => {
  const change = (caller: Awaited<ReturnType<typeof logIn>>, current: string, replacement = NEW_PASSWORD) =>
    caller.call('/api/password', { body: { current_password: current, new_password: replacement } })

  it('revokes every other token and keeps the current one', async () => {
    const customer = await start()
    const [browser, phone] = [await logIn(customer), await logIn(customer)]
    const bot = await app.as(customer, { abilities: ['*'] })
    assert.deepEqual((await change(phone, customer.password)).body, { success: true, revoked: 2 })
    assert.deepEqual(await Promise.all([browser, bot, phone].map(meStatus)), [401, 401, 200])
    const { status } = await app.call('/api/login', {
      body: { email: customer.email, password: customer.password },
    })
    assert.equal(status, 401)
    await logIn({ ...customer, password: NEW_PASSWORD })
    assert.ok(app.audit.some(({ event }) => event === 'customer.password_changed'))
  })

  it('with a wrong current password counts as a failed login', async () => {
    const customer = await start()
    const caller = await logIn(customer)
    for (let count = 0; count < 3; count++) {
      const { status, body } = await change(caller, 'wrong password')
      assert.deepEqual([status, body.reason], [401, 'invalid_credentials'])
    }
    const { status, body, headers } = await change(caller, customer.password)
    assert.deepEqual([status, body.reason], [429, 'too_many_requests'])
    assert.ok(headers.get('retry-after'))
    const login = await app.call('/api/login', {
      body: { email: customer.email, password: customer.password },
    })
    assert.equal(login.status, 429)
    assert.equal(await meStatus(caller), 200)
    await app.useCases.customers.unlock(customer, app.useCases.deadline())
    assert.equal((await change(caller, customer.password)).status, 200)
  })

  it('requires an allowed password, before the current one is verified', async () => {
    const customer = await start({ PASSWORD_MIN_LENGTH: '15', COMMON_PASSWORDS: 'refused' })
    const caller = await logIn(customer)
    for (const [password, sentence] of [
      ['14 characters.', 'Must have at least 15 characters.'],
      ['x'.repeat(1025), 'Must have at most 1024 bytes.'],
      ['with a \u0000 NUL in it', 'Must not contain NUL.'],
      ['passwordpassword', 'Too common. Choose another password.'],
    ] as const) {
      const { status, body } = await change(caller, 'wrong password', password)
      assert.deepEqual([status, body.errors], [422, { new_password: [sentence] }], password)
    }
    assert.equal((await change(caller, customer.password, 'fifteen letters')).status, 200)
  })

  it('accepts a password of 1,024 bytes, all of which count', async () => {
    const customer = await start()
    const caller = await logIn(customer)
    const long = `${'€'.repeat(341)}x`
    assert.equal((await change(caller, customer.password, long)).status, 200)
    await logIn({ ...customer, password: long })
    const { status } = await app.call('/api/login', {
      body: { email: customer.email, password: `${long.slice(0, -1)}y` },
    })
    assert.equal(status, 401)
  })
})

describe('A route with `fresh`', () => {
  const routes = () => [
    route('POST /transfers', { auth: 'customer', fresh: '15m', handle: () => ({ done: true }) }),
  ]

  it('requires a recent login', async () => {
    const customer = await start({}, { routes })
    const caller = await logIn(customer)
    app.clock.advance(15 * MINUTE_MS)
    assert.equal((await caller.call('/api/transfers')).status, 200)
    app.clock.advance(1)
    const { status, body, headers } = await caller.call('/api/transfers')
    assert.deepEqual([status, body.reason], [401, 'reauthentication_required'])
    assert.equal(
      headers.get('www-authenticate'),
      'Bearer realm="api", error="insufficient_user_authentication", max_age=900',
    )
    assert.equal(await meStatus(caller), 200)
  })

  it('refuses named tokens', async () => {
    const customer = await start({}, { routes })
    const bot = await app.as(customer, { abilities: ['*'] })
    const { status, body } = await bot.call('/api/transfers')
    assert.deepEqual([status, body.reason], [403, 'login_token_required'])
  })
})
