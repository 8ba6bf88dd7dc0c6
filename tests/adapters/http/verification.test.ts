import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { newServiceSecret } from '../../../src/adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../../../src/adapters/node-crypto/token-secrets.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import type { TestCaller, TestCustomer } from '../../../src/testing/test-clients.ts'

const HOLDERS = {
  gateway: '[introspect]',
  revoker: '[revoke]',
  plain: '',
} as const
type Holder = keyof typeof HOLDERS

const secrets = Object.fromEntries(
  Object.keys(HOLDERS).map((name) => [name, newServiceSecret()]),
) as Readonly<Record<Holder, string>>
const FORM = 'application/x-www-form-urlencoded'
const UNKNOWN = tokenSecrets({ prefix: 'lk' }).issue().secret

let app: TestApp
let customer: TestCustomer
before(async () => {
  app = await createTestApp({
    settings: {
      TOKEN_TTL: '30d',
      SERVICE_TOKENS: Object.entries(HOLDERS)
        .map(([name, scopes]) => `${name}${scopes}=${secrets[name as Holder]}`)
        .join(','),
    },
  })
  customer = await app.customer({ email: 'ana@example.com' })
})
after(() => app.close())

interface Sent {
  readonly authorization?: string | null
  readonly form?: string
  readonly type?: string | null
  readonly query?: string
}

async function post(path: string, { authorization = null, form = '', type = FORM, query = '' }: Sent) {
  const response = await fetch(`${app.url}${path}${query}`, {
    method: 'POST',
    headers: {
      ...(authorization === null ? {} : { Authorization: authorization }),
      ...(type === null ? {} : { 'Content-Type': type }),
    },
    // Bytes, so that fetch adds no type of its own.
    body: new TextEncoder().encode(form),
  })
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
}

const bearer = (secret: string) => `Bearer ${secret}`
const basic = (name: string, secret: string) => `Basic ${btoa(`${name}:${secret}`)}`
const introspect = (token: string, more: Sent = {}) =>
  post('/introspect', { authorization: bearer(secrets.gateway), form: `token=${token}`, ...more })
const revoke = (token: string, more: Sent = {}) =>
  post('/revoke', { authorization: bearer(secrets.revoker), form: `token=${token}`, ...more })
const accepts = async ({ secret }: Pick<TestCaller, 'secret'>) =>
  (await app.call('/api/me', { token: secret })).status === 200

async function login(): Promise<string> {
  const { email, password } = customer
  return (await app.call('/api/login', { body: { email, password } })).body.token
}

describe('Token introspection (RFC 7662)', () => {
  test('section 2.2: an active token has its owner, scope, times and name', async () => {
    const token = await login()
    const { status, headers, body } = await introspect(token)
    const nowS = Math.floor(app.clock.nowMs() / 1000)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.deepEqual(body, {
      active: true,
      sub: customer.id,
      username: 'ana@example.com',
      scope: '*',
      token_type: 'Bearer',
      iat: nowS,
      exp: Math.floor((app.clock.nowMs() + 30 * 86_400_000) / 1000),
      token_name: 'login',
    })
  })

  test('section 2.2: a token without expiry has no exp, and one without abilities no scope', async () => {
    const { secret } = await app.as(customer, { abilities: [], name: 'robot' })
    const { body } = await introspect(secret)
    assert.deepEqual([body.active, 'exp' in body, 'scope' in body], [true, false, false])
    const { secret: able } = await app.as(customer, { abilities: ['orders:read', 'a:*'], name: 'able' })
    assert.equal((await introspect(able)).body.scope, 'orders:read a:*')
  })

  test('section 2.2: any token that is not active is exactly { active: false }, and no error', async () => {
    const revoked = await login()
    await app.call('/api/logout', { token: revoked })
    const { secret: expired } = await app.as(customer, {
      abilities: [],
      name: 'brief',
      expiresAtMs: app.clock.nowMs() + 1000,
    })
    assert.equal((await introspect(expired)).body.active, true)
    app.clock.advance(1000)
    const other = await app.customer()
    const { secret: ofDisabled } = await app.as(other, { abilities: [] })
    await app.useCases.customers.disable(other.id, app.useCases.deadline())
    for (const token of [
      revoked,
      expired,
      ofDisabled,
      UNKNOWN,
      'malformed',
      secrets.gateway,
      secrets.plain,
    ]) {
      const { status, body } = await introspect(encodeURIComponent(token))
      assert.deepEqual([status, body], [200, { active: false }])
    }
  })

  test('section 2.1: the hint does not influence the result', async () => {
    const token = await login()
    for (const hint of ['access_token', 'refresh_token', 'nonsense', ''])
      assert.equal(
        (await introspect(token, { form: `token_type_hint=${hint}&token=${token}` })).body.active,
        true,
      )
  })

  test('section 2.1: the caller must be authorised, as Bearer or as Basic with name and secret', async () => {
    const token = await login()
    const allowed = [
      bearer(secrets.gateway),
      basic('gateway', secrets.gateway),
      // RFC 6749, section 2.3.1: both are form-encoded.
      basic('%67ateway', [...secrets.gateway].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('')),
    ]
    for (const authorization of allowed)
      assert.equal((await introspect(token, { authorization })).body.active, true, authorization)
    const refused = [
      null,
      bearer(`${secrets.gateway}x`),
      bearer(token),
      basic('plain', secrets.gateway),
      basic('gateway', secrets.plain),
      basic('', secrets.gateway),
      'Basic !',
      'Digest x',
    ]
    for (const authorization of refused) {
      const { status, headers, body } = await introspect(token, { authorization })
      assert.deepEqual([status, body.error, body.success, body.code], [401, 'invalid_client', false, 401])
      // RFC 6749, section 5.2: the scheme that the client used.
      const scheme = authorization?.startsWith('Basic') ? 'Basic' : 'Bearer'
      assert.match(headers.get('www-authenticate') ?? '', new RegExp(`^${scheme} realm="service"`))
    }
  })

  test('a service token without the scope gets 403, which names it', async () => {
    for (const authorization of [
      bearer(secrets.plain),
      basic('plain', secrets.plain),
      bearer(secrets.revoker),
    ]) {
      const { status, headers, body } = await introspect(UNKNOWN, { authorization })
      assert.deepEqual([status, body.error, body.code], [403, 'insufficient_scope', 403])
      assert.match(headers.get('www-authenticate') ?? '', /error="insufficient_scope", scope="introspect"$/)
      assert.match(body.error_description, /'introspect'/)
    }
  })

  test('authentication comes before the media type and the form', async () => {
    assert.equal((await introspect('', { authorization: null, type: 'text/plain' })).status, 401)
  })
})

for (const [name, path, holder] of [
  ['/introspect', '/introspect', 'gateway'],
  ['/revoke', '/revoke', 'revoker'],
] as const)
  describe(`The form of ${name} (RFC 6749, sections 3.2 and 5.2)`, () => {
    const send = (more: Sent) => post(path, { authorization: bearer(secrets[holder]), ...more })

    for (const [what, sent] of [
      ['a missing token', { form: 'x=y' }],
      ['a token without a value, which counts as omitted', { form: 'token=' }],
      ['no body', { form: '', type: null }],
      ['a repeated token', { form: 'token=a&token=b' }],
      ['a repeated hint', { form: 'token=a&token_type_hint=a&token_type_hint=a' }],
      ['a token in the query', { form: `token=${UNKNOWN}`, query: `?token=${UNKNOWN}` }],
      ['a token in the query, encoded', { form: `token=${UNKNOWN}`, query: '?%74oken=x' }],
      ['a token only in the query', { query: `?token=${UNKNOWN}` }],
    ] as const)
      test(`refuses ${what} with 400 invalid_request`, async () => {
        const { status, headers, body } = await send(sent)
        assert.deepEqual(
          [status, body.error, body.success, body.code],
          [400, 'invalid_request', false, 400],
          JSON.stringify(body),
        )
        assert.deepEqual(Object.keys(body), ['error', 'error_description', 'success', 'code'])
        assert.match(body.error_description, /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/)
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.doesNotMatch(JSON.stringify(body), /lk_/)
      })

    test('ignores unrecognised parameters', async () => {
      assert.equal((await send({ form: `token=${UNKNOWN}&scope=x&client_id=y` })).status, 200)
    })

    test('takes no other media type', async () => {
      for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', null]) {
        const { status, headers, body } = await send({ form: 'token=x', type })
        assert.deepEqual([status, body.error, body.code], [415, 'invalid_request', 415])
        assert.equal(headers.get('accept'), FORM)
      }
      assert.equal((await send({ form: `token=${UNKNOWN}`, type: `${FORM}; charset=UTF-8` })).status, 200)
    })

    test('refuses a body that is too large', async () => {
      const { status, body } = await send({ form: `token=${'x'.repeat(70_000)}` })
      assert.deepEqual([status, body.error, body.code], [413, 'invalid_request', 413])
    })
  })

describe('Token revocation (RFC 7009)', () => {
  test('section 2.1: the token cannot be used any more once 200 is sent', async () => {
    const token = await login()
    assert.equal(await accepts({ secret: token }), true)
    const { status, body } = await revoke(token)
    assert.deepEqual([status, body], [200, { success: true }])
    assert.equal(await accepts({ secret: token }), false)
    assert.equal((await introspect(token)).body.active, false)
    const event = app.audit.findLast(({ event }) => event === 'token.revoked')
    assert.deepEqual([event?.event, event?.reason], ['token.revoked', 'presented'])
  })

  test('section 2.2: an unknown, revoked or malformed token gets 200 too', async () => {
    const token = await login()
    for (const presented of [UNKNOWN, token, token, 'malformed', secrets.plain])
      assert.equal((await revoke(presented)).status, 200)
  })

  test('section 2.2.1: the hint does not influence the revocation', async () => {
    for (const hint of ['refresh_token', 'access_token', 'nonsense']) {
      const token = await login()
      assert.equal((await revoke('', { form: `token=${token}&token_type_hint=${hint}` })).status, 200)
      assert.equal(await accepts({ secret: token }), false)
    }
  })

  test('the holder of a token may revoke it, also a named one', async () => {
    for (const token of [await login(), (await app.as(customer, { abilities: [], name: 'own' })).secret]) {
      assert.equal((await revoke(token, { authorization: bearer(token) })).status, 200)
      assert.equal(await accepts({ secret: token }), false)
    }
  })

  test('section 2.1: no other caller may', async () => {
    const token = await login()
    const other = await app.as(await app.customer(), { abilities: ['*'] })
    for (const [authorization, expected] of [
      [null, 401],
      [bearer(other.secret), 401],
      [bearer(UNKNOWN), 401],
      [basic('revoker', secrets.plain), 401],
      [bearer(secrets.gateway), 403],
      [bearer(secrets.plain), 403],
    ] as const) {
      const { status, body } = await revoke(token, { authorization })
      assert.deepEqual([status, body.code, body.success], [expected, expected, false])
      assert.equal(body.error, expected === 401 ? 'invalid_client' : 'insufficient_scope')
    }
    assert.equal(await accepts({ secret: token }), true)
  })
})

describe('The budget of unknown tokens', () => {
  test('is that of the service token at /introspect, of the address elsewhere', async (t) => {
    const own = await createTestApp({
      settings: {
        SERVICE_TOKENS: `gateway[introspect revoke]=${secrets.gateway},other[introspect]=${secrets.plain}`,
      },
    })
    t.after(() => own.close())
    const issue = () => tokenSecrets({ prefix: 'lk' }).issue().secret
    const ask = async (path: string, authorization: string, token = issue()) =>
      fetch(own.url + path, {
        method: 'POST',
        headers: { Authorization: authorization, 'Content-Type': FORM },
        body: `token=${token}`,
      })
    const { secret: valid } = await own.as(await own.customer(), { abilities: [] })
    for (let n = 0; n < 100; n++)
      assert.equal((await ask('/introspect', bearer(secrets.gateway))).status, 200)
    const limited = await ask('/introspect', bearer(secrets.gateway))
    const body = (await limited.json()) as { error: string; code: number }
    assert.deepEqual([limited.status, body.error, body.code], [429, 'temporarily_unavailable', 429])
    assert.match(limited.headers.get('retry-after') ?? '', /^\d+$/)
    // The rest is not affected: another service token, a valid token, the address.
    assert.equal((await ask('/introspect', bearer(secrets.plain))).status, 200)
    assert.match(await (await ask('/introspect', bearer(secrets.gateway), valid)).text(), /"active":true/)
    assert.equal((await own.call('/api/me', { token: issue() })).status, 401)
    assert.equal((await ask('/revoke', bearer(secrets.gateway))).status, 429)
    const unknown = issue()
    assert.equal((await ask('/revoke', bearer(unknown), unknown)).status, 200)
    for (let n = 0; n < 100; n++) await own.call('/forward-auth', { token: issue() })
    assert.equal((await own.call('/forward-auth', { token: issue() })).status, 429)
    const another = issue()
    assert.equal((await ask('/revoke', bearer(another), another)).status, 429)
  })
})

describe('Forward authentication', () => {
  const ask = (token: string | null, query = '', method = 'GET', headers = {}) =>
    app.call(`/forward-auth${query}`, { method, token, headers })

  test('returns the identity in headers', async () => {
    const { secret } = await app.as(customer, { abilities: ['orders:read', 'a:*'], name: 'till 1' })
    const { status, headers } = await ask(secret)
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-latchkey-customer'), customer.id)
    assert.equal(headers.get('x-latchkey-email'), 'ana@example.com')
    assert.match(headers.get('x-latchkey-token-id') ?? '', /^[0-9a-f-]{36}$/)
    assert.equal(headers.get('x-latchkey-token-name'), 'till%201')
    assert.equal(headers.get('x-latchkey-abilities'), 'orders:read a:*')
  })

  test('percent-encodes as UTF-8 what is not visible ASCII, and the percent sign', async () => {
    const odd = await app.customer({ email: 'zoë%20"x"@exämple.com' })
    const { secret } = await app.as(odd, { abilities: [], name: '100% 🔑' })
    const { headers } = await ask(secret)
    assert.equal(headers.get('x-latchkey-email'), 'zo%C3%AB%2520"x"@ex%C3%A4mple.com')
    assert.equal(decodeURIComponent(headers.get('x-latchkey-email') ?? ''), odd.email)
    assert.equal(headers.get('x-latchkey-token-name'), '100%25%20%F0%9F%94%91')
    assert.equal(headers.get('x-latchkey-abilities'), '')
  })

  test('takes any method, OPTIONS included', async () => {
    const { secret } = await app.as(customer, { abilities: [], name: 'methods' })
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])
      for (const [token, expected] of [
        [secret, 200],
        [UNKNOWN, 401],
        [null, 401],
      ] as const)
        assert.equal((await ask(token, '', method)).status, expected, method)
  })

  test('returns 401 and 403 with a challenge', async () => {
    const { secret } = await app.as(customer, { abilities: ['orders:read'], name: 'reader' })
    const missing = await ask(null)
    assert.equal(missing.headers.get('www-authenticate'), 'Bearer realm="api"')
    const invalid = await ask(UNKNOWN)
    assert.equal(invalid.headers.get('www-authenticate'), 'Bearer realm="api", error="invalid_token"')
    assert.equal((await ask(secrets.gateway)).status, 401)
    assert.equal((await ask(secret, '?ability=orders:read')).status, 200)
    const { status, headers } = await ask(secret, '?ability=orders:read&ability=orders:write')
    assert.equal(status, 403)
    assert.match(headers.get('www-authenticate') ?? '', /scope="orders:read orders:write"$/)
    assert.equal(headers.get('x-latchkey-customer'), null)
  })

  test('refuses any other or an empty parameter with 400', async () => {
    const { secret } = await app.as(customer, { abilities: ['*'], name: 'all' })
    for (const query of ['?ability=', '?ability', '?abilty=a', '?ability=a&x=y', '?=a', '?ability=a%20b']) {
      const { status, body, headers } = await ask(secret, query)
      assert.deepEqual([status, body.reason], [400, 'invalid_request'], query)
      assert.equal(headers.get('x-latchkey-customer'), null)
    }
    for (const query of ['', '?', '?ability=a:b', '?ability=a&ability=b'])
      assert.equal((await ask(secret, query)).status, 200, query)
  })

  for (const [what, framing] of [
    ['that is declared and never arrives', 'Content-Length: 10'],
    ['above every limit', 'Content-Length: 99999999999'],
    ['of unknown length', 'Transfer-Encoding: chunked'],
    ['that waits for 100 Continue', 'Content-Length: 10\r\nExpect: 100-continue'],
  ])
    test(`waits for no body: one ${what}`, async () => {
      const { secret } = await app.as(customer, { abilities: [], name: 'no-body' })
      const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
      socket.write(
        `POST /forward-auth HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n${framing}\r\n\r\n`,
      )
      let text = ''
      for await (const chunk of socket) {
        text += chunk
        if (text.includes('{"success":true}')) break
      }
      assert.match(text, /^HTTP\/1\.1 200 OK\r\n/)
      assert.match(text, /\r\nConnection: close\r\n/i)
    })
})
