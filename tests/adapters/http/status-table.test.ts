import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as v from 'valibot'
import { Conflict } from '../../../src/adapters/http/errors.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { TooManyLogins } from '../../../src/domain/errors.ts'
import { comparable, sendRaw } from '../../support/raw-http.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from '../../support/running-app.ts'

let app: RunningApp
let token: string
before(async () => {
  app = await startApp({
    env: { LOG_ERROR_MESSAGES: 'off', REQUEST_TIMEOUT: '1s', HEADERS_TIMEOUT: '1s' },
    routes: () => [
      route('POST /orders', {
        auth: 'customer',
        abilities: ['orders:write'],
        body: v.object({ sku: v.string() }),
        status: 201,
        handle: ({ body }) => ({ sku: body.sku }),
      }),
      route('GET /orders/:id', { auth: 'none', handle: ({ params }) => ({ id: params.id }) }),
      route('DELETE /orders/:id', { auth: 'none', status: 204, handle: () => {} }),
      route('GET /limited', {
        auth: 'none',
        handle: () => {
          throw new TooManyLogins({
            name: 'account',
            failures: 10,
            windowMs: 900_000,
            retryAfterMs: 60_001,
          })
        },
      }),
      route('GET /limited-for-a-moment', {
        auth: 'none',
        handle: () => {
          throw new TooManyLogins({ name: 'guesses', failures: 1, windowMs: 500, retryAfterMs: 0 })
        },
      }),
      route('PUT /orders/:id', {
        auth: 'none',
        throws: ['conflict'],
        handle: ({ params }) => {
          throw params.id === 'mute' ? new Conflict() : new Conflict('The order is on its way already.')
        },
      }),
      route('GET /reports', { auth: 'service', scopes: ['reports'], handle: () => ({}) }),
      route('GET /broken', {
        auth: 'none',
        handle: () => {
          throw new Error(`select * from secrets where password = '${PASSWORD}'`)
        },
      }),
    ],
  })
  await app.addCustomer({ email: 'ana@example.com' })
  token = await app.login('ana@example.com')
})
after(() => app.close())

const JSON_TYPE = 'application/json; charset=utf-8'
const SENTENCES: Readonly<Record<string, readonly [number, string]>> = {
  invalid_request: [400, 'The request is not well-formed HTTP.'],
  invalid_json: [400, 'The body must be JSON in UTF-8.'],
  missing_token: [401, 'A bearer token is required.'],
  invalid_token: [401, 'The token is not valid.'],
  invalid_credentials: [401, 'The e-mail or the password is not right.'],
  invalid_service_token: [401, 'A valid service token is required.'],
  insufficient_scope: [403, 'The token lacks an ability that this route requires.'],
  login_token_required: [403, 'Only a login token may do this.'],
  not_found: [404, 'Nothing was found at this path.'],
  method_not_allowed: [405, 'The path does not support this method.'],
  request_timeout: [408, 'The request took too long to arrive.'],
  conflict: [409, 'The request conflicts with the current state.'],
  payload_too_large: [413, 'The body is larger than this route accepts.'],
  unsupported_media_type: [415, 'The body must be sent as application/json in UTF-8.'],
  expectation_failed: [417, 'The expectation cannot be met.'],
  validation_failed: [422, 'The request does not have the expected shape.'],
  too_many_requests: [429, 'Too many logins have failed. Please try again later.'],
  headers_too_large: [431, 'The headers are too large or too many.'],
  internal: [500, 'Something went wrong on our side.'],
}

function failure(
  reason: string,
  {
    headers = {},
    closes = false,
    error,
    errors,
    details,
  }: {
    headers?: Record<string, string>
    closes?: boolean
    error?: string
    errors?: Record<string, string[]>
    details?: readonly object[]
  } = {},
) {
  const [code, sentence] = SENTENCES[reason] ?? [0, '']
  return {
    status: code,
    headers: {
      'Content-Type': JSON_TYPE,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
      ...headers,
      Connection: closes ? 'close' : 'keep-alive',
    },
    body: {
      success: false,
      code,
      error: error ?? sentence,
      reason,
      ...(errors === undefined ? {} : { errors, details }),
    },
  }
}

function success(fields: object, status = 200) {
  return {
    status,
    headers: {
      'Content-Type': JSON_TYPE,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
      Connection: 'keep-alive',
    },
    body: { success: true, ...fields },
  }
}

function request(line: string, headers: readonly string[] = [], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`]
  return [`${line} HTTP/1.1`, 'Host: localhost', ...headers, ...length, '', body].join('\r\n')
}

function login(body: string, headers: readonly string[] = ['Content-Type: application/json']): string {
  return request('POST /api/login', headers, body)
}

const GOOD = () => `Authorization: Bearer ${token}`
const API = { 'WWW-Authenticate': 'Bearer realm="api"' }
const INVALID = { 'WWW-Authenticate': 'Bearer realm="api", error="invalid_token"' }
const SERVICE = { 'WWW-Authenticate': 'Bearer realm="service"' }
const UNKNOWN = 'lk_0123456789ABCDEFGHIJabcdefghijKLMNOPQRST2m5ATr'

interface Expected {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
}
type Row = readonly [name: string, bytes: () => string, expected: () => Expected]

const closing: readonly Row[] = [
  ['Content-Length with Transfer-Encoding', 'Content-Length: 5\r\nTransfer-Encoding: chunked'],
  ['two Content-Length lines', 'Content-Length: 2\r\nContent-Length: 3'],
  ['a signed Content-Length', 'Content-Length: +2'],
  ['an empty Content-Length', 'Content-Length:'],
  ['a list of lengths', 'Content-Length: 2, 2'],
  ['a coding that does not end in chunked', 'Transfer-Encoding: chunked, gzip'],
  ['an unknown coding', 'Transfer-Encoding: gzip, chunked'],
  ['the coding identity', 'Transfer-Encoding: identity'],
  ['chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'],
  ['a folded line', 'X-Folded: a\r\n b'],
  ['a space before the colon', 'X-Blank : a'],
  ['a bare CR', 'X-Bare: a\rX-Other: b'],
  ['a NUL in a header', 'X-Nul: a\u0000b'],
  ['a second Host line', 'Host: other'],
  ['two Authorization lines', `Authorization: Bearer ${UNKNOWN}\r\nAuthorization: Bearer ${UNKNOWN}`],
].map(([name, header]) => [
  `400 for ${name}`,
  () => request('POST /api/login', ['Content-Type: application/json', header as string], ''),
  () => failure('invalid_request', { closes: true }),
])

const lines: readonly Row[] = [
  ['a missing Host', 'GET /livez HTTP/1.1\r\n\r\n'],
  ['a bad Host', 'GET /livez HTTP/1.1\r\nHost: a b\r\n\r\n'],
  ['a Host with a path', 'GET /livez HTTP/1.1\r\nHost: a/b\r\n\r\n'],
  ['HTTP/0.9', 'GET /livez\r\n\r\n'],
  ['HTTP/2.0', 'GET /livez HTTP/2.0\r\nHost: a\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  [
    'Transfer-Encoding in HTTP/1.0',
    'POST /api/login HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['CONNECT', 'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n'],
  ['a fragment in the target', 'GET /livez#top HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['an unknown method token', 'FROBNICATE /livez HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a lower-case method', 'get /livez HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a target without a slash', 'GET livez HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a bare LF', 'GET /livez HTTP/1.1\nHost: a\n\n'],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
].map(([name, bytes]) => [
  `400 for ${name}`,
  () => bytes as string,
  () => failure('invalid_request', { closes: true }),
])

const table: readonly Row[] = [
  ['200 for livez', () => request('GET /livez'), () => success({})],
  ['200 for readyz', () => request('GET /readyz'), () => success({})],
  ['200 for a parameter, decoded', () => request('GET /api/orders/a%2Fb'), () => success({ id: 'a/b' })],
  [
    '200 for an absolute target',
    () => request('GET http://localhost/api/orders/7?x=%'),
    () => success({ id: '7' }),
  ],
  ...['GET /api/%', 'GET /api/status%E0%A4%A', 'GET /api/orders/%ff', 'POST /api/login%', 'PUT /api/%'].map(
    // Public case 018
    (line): Row => [
      `400 for an undecodable escape in ${line}`,
      () => request(line),
      () => failure('invalid_request'),
    ],
  ),
  // Public case 032
  ['400 for a NUL in a parameter', () => request('GET /api/orders/%00'), () => failure('invalid_request')],
  [
    '400 for no body',
    () => request('POST /api/login', ['Content-Type: application/json', 'Content-Length: 0']),
    () => failure('invalid_json'),
  ],
  ['400 for a body that is not JSON', () => login('{"email"'), () => failure('invalid_json')],
  [
    '400 for a body that is not UTF-8',
    () => login('{"email":"\xff\xfe","password":"x"}'),
    () => failure('invalid_json'),
  ],
  ['401 without a token', () => request('POST /api/me'), () => failure('missing_token', { headers: API })],
  [
    '401 for an empty Authorization',
    () => request('POST /api/me', ['Authorization: ']),
    () => failure('missing_token', { headers: API }),
  ],
  [
    '401 for another scheme',
    () => request('POST /api/me', ['Authorization: Basic Zm9vOmJhcg==']),
    () => failure('missing_token', { headers: API }),
  ],
  [
    '401 for Bearer without a token',
    () => request('POST /api/me', ['Authorization: Bearer']),
    () => failure('invalid_token', { headers: INVALID }),
  ],
  [
    '401 for a malformed token',
    () => request('POST /api/me', ['Authorization: Bearer x']),
    () => failure('invalid_token', { headers: INVALID }),
  ],
  [
    '401 for an unknown token',
    () => request('POST /api/logout', [`Authorization: Bearer ${UNKNOWN}`]),
    () => failure('invalid_token', { headers: INVALID }),
  ],
  [
    '401 for a wrong password',
    () => login('{"email":"ana@example.com","password":"wrong"}'),
    () => failure('invalid_credentials', { headers: API }),
  ],
  [
    '401 for an unknown e-mail',
    () => login('{"email":"eve@example.com","password":"wrong"}'),
    () => failure('invalid_credentials', { headers: API }),
  ],
  [
    '401 without a service token',
    () => request('GET /api/status'),
    () => failure('invalid_service_token', { headers: SERVICE }),
  ],
  [
    '401 for a login token on a service route',
    () => request('GET /api/status', [GOOD()]),
    () => failure('invalid_service_token', { headers: SERVICE }),
  ],
  [
    '401 for a service token on a customer route',
    () => request('POST /api/me', [`Authorization: Bearer ${SERVICE_SECRET}`]),
    () => failure('invalid_token', { headers: INVALID }),
  ],
  [
    '403 for a service token without the scope of the route',
    () => request('GET /api/reports', [`Authorization: Bearer ${SERVICE_SECRET}`]),
    () =>
      failure('insufficient_scope', {
        headers: {
          'WWW-Authenticate': 'Bearer realm="service", error="insufficient_scope", scope="reports"',
        },
        error: 'The service token lacks the scope "reports".',
      }),
  ],
  [
    '200 for status',
    () => request('GET /api/status', [`Authorization: Bearer ${SERVICE_SECRET}`]),
    () => success({ online: true, version: '0.0.0-tests' }),
  ],
  [
    '201 for a custom route',
    () => request('POST /api/orders', [GOOD(), 'Content-Type: application/json'], '{"sku":"a"}'),
    () => success({ sku: 'a' }, 201),
  ],
  ['404 for an unknown path', () => request('GET /api/nothing'), () => failure('not_found')],
  ['404 for a trailing slash', () => request('POST /api/login/'), () => failure('not_found')],
  ['404 for another letter case', () => request('POST /API/login'), () => failure('not_found')],
  ['404 for an escaped static segment', () => request('POST /api/%6Cogin'), () => failure('not_found')],
  ['404 for an empty parameter', () => request('GET /api/orders/'), () => failure('not_found')],
  [
    '405 for another method',
    () => request('GET /api/login'),
    () => failure('method_not_allowed', { headers: { Allow: 'OPTIONS, POST' } }),
  ],
  [
    '405 for TRACE',
    () => request('TRACE /api/orders/1'),
    () => failure('method_not_allowed', { headers: { Allow: 'DELETE, GET, HEAD, OPTIONS, PUT' } }),
  ],
  // Public case 089
  [
    '408 for a slow head',
    () => 'POST /api/login HTTP/1.1\r\nHost: a\r\n',
    () => failure('request_timeout', { closes: true }),
  ],
  // Public case 089
  [
    '408 for a slow body',
    () => login('{"email":"ana').replace(/Content-Length: \d+/, 'Content-Length: 99'),
    () => failure('request_timeout', { closes: true }),
  ],
  ['409 with the default message', () => request('PUT /api/orders/mute'), () => failure('conflict')],
  [
    '409 with the message of a handler',
    () => request('PUT /api/orders/1'),
    () => failure('conflict', { error: 'The order is on its way already.' }),
  ],
  [
    '413 for a length over the limit',
    () => login(' '.repeat(65_537)),
    () => failure('payload_too_large', { closes: true }),
  ],
  [
    '415 without a type',
    () => login('{}', []),
    () => failure('unsupported_media_type', { headers: { Accept: 'application/json' } }),
  ],
  [
    '415 for a coding',
    () => login('{}', ['Content-Type: application/json', 'Content-Encoding: gzip']),
    () =>
      failure('unsupported_media_type', {
        headers: { 'Accept-Encoding': 'identity' },
        error: 'The body must be sent without a content coding.',
      }),
  ],
  // Public case 024
  [
    '417 for an unknown expectation',
    () => login('{}', ['Content-Type: application/json', 'Expect: the-unexpected']),
    () => failure('expectation_failed', { closes: true }),
  ],
  [
    '422 for wrong fields',
    () => login('{"email":7}'),
    () =>
      failure('validation_failed', {
        errors: { email: ['Must be a string.'], password: ['Is required.'] },
        details: [
          { field: 'email', code: 'type', type: 'string' },
          { field: 'password', code: 'required' },
        ],
      }),
  ],
  [
    '422 for a list',
    () => login('[]'),
    () =>
      failure('validation_failed', {
        errors: { email: ['Is required.'], password: ['Is required.'] },
        details: [
          { field: 'email', code: 'required' },
          { field: 'password', code: 'required' },
        ],
      }),
  ],
  [
    '422 for null',
    () => login('null'),
    () =>
      failure('validation_failed', {
        errors: { body: ['Must be an object.'] },
        details: [{ field: 'body', code: 'type', type: 'object' }],
      }),
  ],
  [
    '422 for a NUL in the password',
    () => login('{"email":"a","password":"a\\u0000b"}'),
    () =>
      failure('validation_failed', {
        errors: { password: ['Must not contain NUL.'] },
        details: [{ field: 'password', code: 'invalid' }],
      }),
  ],
  [
    '422 for a lone surrogate',
    () => login('{"email":"\\ud800","password":"x"}'),
    () =>
      failure('validation_failed', {
        errors: { email: ['Must be well-formed text.'] },
        details: [{ field: 'email', code: 'invalid' }],
      }),
  ],
  [
    '431 for 101 header lines',
    () =>
      request(
        'GET /livez',
        Array.from({ length: 100 }, (_, i) => `X-${i}: a`),
      ),
    () => failure('headers_too_large', { closes: true }),
  ],
  [
    '431 for over 16 KiB of headers',
    () => request('GET /livez', [`X-Large: ${'a'.repeat(17_000)}`]),
    () => failure('headers_too_large', { closes: true }),
  ],
  [
    '429 for a limit, rounded up to whole seconds',
    () => request('GET /api/limited'),
    () =>
      failure('too_many_requests', {
        headers: {
          'Retry-After': '61',
          'RateLimit-Policy': '"account";q=10;w=900',
          RateLimit: '"account";r=0;t=61',
        },
      }),
  ],
  [
    '429 with a wait of at least one second',
    () => request('GET /api/limited-for-a-moment'),
    () =>
      failure('too_many_requests', {
        headers: {
          'Retry-After': '1',
          'RateLimit-Policy': '"guesses";q=1;w=1',
          RateLimit: '"guesses";r=0;t=1',
        },
      }),
  ],
  ['500 for a bug', () => request('GET /api/broken'), () => failure('internal')],
]

describe('the HTTP status', () => {
  for (const [name, bytes, expected] of [...table, ...closing, ...lines]) {
    test(name, async () => {
      const wanted = expected()
      const closes = wanted.headers.Connection === 'close'
      const logged = app.logLines.length
      const { responses, closed } = await sendRaw(app.port, bytes(), {
        responses: closes ? Infinity : 1,
        quietMs: 4000,
      })
      assert.deepEqual(comparable(responses[0]), wanted)
      assert.equal(responses.length, 1)
      assert.equal(closed, closes)
      const bugs = app.logLines.slice(logged).filter((line) => line.includes('"level":"error"'))
      assert.equal(bugs.length, wanted.status === 500 ? 1 : 0)
    })
  }

  // Public case 089
  test('408 for a head that arrives byte by byte, while other clients are served', async () => {
    const bytes = 'POST /api/login HTTP/1.1\r\nHost: a\r\n'
    const dripping = sendRaw(
      app.port,
      [...bytes].flatMap((byte) => [byte, 100]),
    )
    const beside = await sendRaw(app.port, [request('GET /livez'), 1500, request('GET /livez')], {
      responses: 2,
    })
    assert.deepEqual(
      beside.responses.map(({ status }) => status),
      [200, 200],
    )
    const { responses, closed } = await dripping
    assert.deepEqual(responses.map(comparable), [failure('request_timeout', { closes: true })])
    assert.equal(closed, true)
  })

  // Public case 099
  test('depends on the exact path, but not on the query or on the host of an absolute target', async () => {
    const body = JSON.stringify({ email: 'ana@example.com', password: 'wrong' })
    for (const [line, status, allow] of [
      ['POST /api/login', 401],
      ['POST /api/login?x=1', 401],
      ['POST /api/login?', 401],
      ['POST http://host/api/login', 401],
      ['POST HTTP://host:1/api/login?x', 401],
      ['POST /api/login/', 404],
      ['POST //api/login', 404],
      ['POST /api//login', 404],
      ['POST /API/LOGIN', 404],
      ['POST /api/./login', 404],
      ['POST /api/me/../login', 404],
      ['POST /api/login;x', 404],
      ['POST http://host/api/login/', 404],
      ['POST http://host', 405, 'GET, HEAD, OPTIONS'],
      ['GET /api/login', 405, 'OPTIONS, POST'],
      ['HEAD /api/me', 405, 'OPTIONS, POST'],
      ['POST /api/status', 405, 'GET, HEAD, OPTIONS'],
      ['OPTIONS *', 204, 'OPTIONS'],
      ['OPTIONS /api/status?x', 204, 'GET, HEAD, OPTIONS'],
      ['GET *', 400],
    ] as const) {
      const bytes = request(line, ['Content-Type: application/json'], line.startsWith('POST') ? body : '')
      const head = line.startsWith('HEAD')
      const { responses } = await sendRaw(app.port, bytes, { responses: 1, head })
      const { headers } = comparable(responses[0])
      assert.deepEqual([responses[0]?.status, headers.Allow], [status, allow], line)
    }
  })

  test('200 for login, me and logout, with all headers and fields', async () => {
    const customer = await app.addCustomer({ email: 'Bea@Example.com' })
    const loggedIn = await sendRaw(
      app.port,
      login(JSON.stringify({ email: ' bea@example.COM ', password: PASSWORD })),
      { responses: 1 },
    )
    const { token: secret, expires_at } = JSON.parse(loggedIn.responses[0]?.body ?? '{}')
    assert.match(secret, /^lk_[0-9A-Za-z]{46}$/)
    assert.deepEqual(comparable(loggedIn.responses[0]), success({ token: secret, expires_at }))

    const me = await sendRaw(app.port, request('POST /api/me', [`Authorization: Bearer ${secret}`]), {
      responses: 1,
    })
    const createdAt = JSON.parse(me.responses[0]?.body ?? '{}').token.created_at
    assert.equal(Date.parse(expires_at) - Date.parse(createdAt), 30 * 86_400_000)
    assert.deepEqual(
      comparable(me.responses[0]),
      success({
        customer: {
          id: customer.id,
          email: 'Bea@Example.com',
          name: 'Ada',
          created_at: new Date(customer.createdAtMs).toISOString(),
        },
        token: { name: 'login', abilities: ['*'], created_at: createdAt, expires_at },
      }),
    )

    const logout = request('POST /api/logout', [`Authorization: Bearer ${secret}`])
    assert.deepEqual(
      comparable((await sendRaw(app.port, logout, { responses: 1 })).responses[0]),
      success({}),
    )
    const again = await sendRaw(app.port, logout, { responses: 1 })
    assert.deepEqual(comparable(again.responses[0]), failure('invalid_token', { headers: INVALID }))
  })

  test('403 for a token that lacks the ability, before the body is read', async () => {
    const named = await namedToken(['orders:read'])
    const bytes = request('POST /api/orders', [`Authorization: Bearer ${named}`], 'x')
    const { responses } = await sendRaw(app.port, bytes, { responses: 1 })
    const challenge = 'Bearer realm="api", error="insufficient_scope", scope="orders:write"'
    assert.deepEqual(
      comparable(responses[0]),
      failure('insufficient_scope', { headers: { 'WWW-Authenticate': challenge } }),
    )
  })

  test('403 for a logout with a named token, which stays valid', async () => {
    const named = await namedToken(['*'])
    const { responses } = await sendRaw(
      app.port,
      request('POST /api/logout', [`Authorization: Bearer ${named}`]),
      { responses: 1 },
    )
    assert.deepEqual(comparable(responses[0]), failure('login_token_required'))
    assert.equal((await app.call('/api/me', { token: named })).status, 200)
  })

  test('204 for OPTIONS and for a route without a response body, without a Content-Type', async () => {
    const common = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' }
    const empty = { ...common, Connection: 'keep-alive' }
    const cases = [
      ['OPTIONS /api/login', { ...common, Allow: 'OPTIONS, POST', Connection: 'keep-alive' }],
      ['OPTIONS /livez', { ...common, Allow: 'GET, HEAD, OPTIONS', Connection: 'keep-alive' }],
      ['OPTIONS *', { ...common, Allow: 'OPTIONS', Connection: 'keep-alive' }],
      ['DELETE /api/orders/1', empty],
    ] as const
    for (const [line, headers] of cases) {
      const { responses } = await sendRaw(app.port, request(line), { responses: 1 })
      assert.deepEqual(comparable(responses[0]), { status: 204, headers, body: null }, line)
      assert.equal(responses[0]?.body, '')
    }
  })

  // Public case 099
  test('and headers of HEAD equal those of GET, without the body', async () => {
    for (const path of ['/livez', '/api/status']) {
      const line = (method: string) =>
        request(`${method} ${path}`, [`Authorization: Bearer ${SERVICE_SECRET}`])
      const get = await sendRaw(app.port, line('GET'), { responses: 1 })
      const head = await sendRaw(app.port, line('HEAD'), { responses: 1, head: true })
      const { body: _, ...rest } = comparable(get.responses[0])
      assert.equal(rest.status, 200)
      assert.deepEqual(comparable(head.responses[0]), { ...rest, body: null })
      // Parsed like a GET response, it never completes: no byte of the declared body arrives.
      assert.deepEqual((await sendRaw(app.port, line('HEAD'), { quietMs: 300 })).responses, [])
    }
  })

  test("comes with the client's request id when it is valid, or a new one", async () => {
    for (const [sent, isValid] of [
      ['abc-1._Z', true],
      ['a'.repeat(128), true],
      ['a'.repeat(129), false],
      ['a b', false],
      ['é', false],
    ] as const) {
      const { responses } = await sendRaw(app.port, request('GET /api/nothing', [`X-Request-Id: ${sent}`]), {
        responses: 1,
      })
      const header = responses[0]?.headers.find(([name]) => name === 'X-Request-Id')?.[1]
      assert.equal(header === sent, isValid, sent)
      assert.equal(JSON.parse(responses[0]?.body ?? '{}').request_id, header)
    }
  })

  test('500 is logged with the request id, and without the message when LOG_ERROR_MESSAGES=off', async () => {
    await sendRaw(app.port, request('GET /api/broken', ['X-Request-Id: find-me']), { responses: 1 })
    const line = app.logLines.find((text) => text.includes('find-me'))
    const { request_id, route: template, method, error, stack } = JSON.parse(line ?? '{}')
    assert.deepEqual(
      { request_id, template, method, error },
      { request_id: 'find-me', template: '/api/broken', method: 'GET', error: 'Error' },
    )
    assert.match(stack, /^ {4}at /)
    assert.equal(app.logLines.join('').includes(PASSWORD), false)
  })
})

async function namedToken(abilities: readonly string[]): Promise<string> {
  const { secret, digest } = (await import('../../../src/adapters/node-crypto/token-secrets.ts'))
    .tokenSecrets({ prefix: 'lk' })
    .issue()
  await app.database.sql(
    `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
     select gen_random_uuid(), id, 'bot', decode($1, 'hex'), $2, now() from customers where email = 'ana@example.com'`,
    [digest, abilities],
  )
  return secret
}
