import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { orderRoutes } from '../support/documented-routes.ts'
import {
  type DocumentedOperation,
  type DocumentedSchema,
  faultsOf,
  judge,
  type OpenApi,
  operationsOf,
  responseOf,
} from '../support/openapi.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'

const ID = '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34'
const OTHER_ID = '00000000-0000-4000-8000-000000000000'
const OTHER_SERVICE_SECRET = `another-${SERVICE_SECRET}`

/** Statuses that these calls do not cause: a slow network, all sessions in use, a rate limit, a bug and an unreachable database. */
const UNTRIGGERED_STATUSES = ['408', '409', '429', '500', '503']
/** These require a login token, and end it. */
const NEED_LOGIN_TOKEN = new Set([
  'postLogout',
  'getSessions',
  'deleteSessionsById',
  'deleteSessions',
  'postPassword',
])

interface Call {
  readonly token?: string | null
  readonly id?: string
  readonly query?: string
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

interface ApiResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

describe('the OpenAPI document of a service', () => {
  let app: RunningApp
  let document: OpenApi
  let findFault: ReturnType<typeof judge>
  let customer: { readonly id: string; readonly email: string }

  before(async () => {
    app = await startApp({
      routes: orderRoutes,
      env: { SERVICE_TOKENS: `tests=${SERVICE_SECRET},idle[none]=${OTHER_SERVICE_SECRET}` },
    })
    customer = await app.addCustomer({ email: 'ana@example.com' })
    document = (await app.call('/openapi.json', { method: 'GET' })).body
    findFault = judge(document)
  })
  after(() => app.close())

  test('is valid OpenAPI 3.1 and has every route except the documentation', async () => {
    assert.deepEqual(await faultsOf(document), [])
    assert.equal(operationsOf(document).length, 15)
  })

  test('matches the response of every operation to valid and invalid calls', async (t) => {
    let calls = 0
    for (const { method, path, operation } of operationsOf(document)) {
      const seen = new Set<string>()
      const good = await goodCall(operation)
      // A valid logout revokes the token of the other calls, so it comes last.
      for (const call of [...(await badCalls(operation, good)), good]) {
        const result = await send(method, path, call)
        check(operation, result, JSON.stringify(call).slice(0, 200))
        seen.add(String(result.status))
        calls++
      }
      const documented = Object.keys(operation.responses).filter(
        (status) => !UNTRIGGERED_STATUSES.includes(status),
      )
      assert.deepEqual([...seen].sort(), documented.sort(), operation.operationId)
    }
    t.diagnostic(`${calls} calls of ${operationsOf(document).length} operations`)
  })

  test('does not match undocumented responses', () => {
    const operation = document.paths['/api/me']?.post as DocumentedOperation
    const headers = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'a' }
    const wrong = [
      { status: 418, headers, text: '{}' },
      { status: 200, headers, text: '{"success":true}' },
      { status: 401, headers: { ...headers, 'www-authenticate': 'x' }, text: '{"success":false}' },
    ]
    for (const result of wrong) assert.throws(() => check(operation, result, ''), assert.AssertionError)
  })

  /** Asserts that status, type, headers and body match the document. */
  function check(operation: DocumentedOperation, { status, headers, text }: ApiResponse, call: string): void {
    const of = `${operation.operationId}, ${status}, ${call}`
    const response = responseOf(document, operation, status)
    assert.ok(response, `${of}: the status is not documented; ${text}`)
    for (const name of Object.keys(response.headers ?? {})) {
      // A 415 has one of two Accept headers, depending on its cause.
      if (name.startsWith('Accept')) continue
      assert.notEqual(headers[name.toLowerCase()], undefined, `${of}: ${name}`)
    }
    const media = response.content?.['application/json']
    if (media === undefined) assert.equal(text, '', of)
    else {
      assert.equal(headers['content-type'], 'application/json; charset=utf-8', of)
      const body = JSON.parse(text)
      assert.equal(findFault(media.schema, body), null, `${of}: ${text}`)
      if (operation.operationId !== 'getPublic') assert.deepEqual(undeclared(media.schema, body), [], of)
    }
  }

  /** Returns the fields in a response, at any depth, that its schema does not declare. */
  function undeclared(schema: DocumentedSchema, value: unknown): readonly string[] {
    if (Array.isArray(value))
      return value.flatMap((item) => undeclared((schema.items ?? {}) as DocumentedSchema, item))
    const properties = schema.properties as Readonly<Record<string, DocumentedSchema>> | undefined
    if (properties === undefined || typeof value !== 'object' || value === null) return []
    return Object.entries(value).flatMap(([name, inner]) => {
      const declared = properties[name]
      return declared === undefined ? [name] : undeclared(declared, inner)
    })
  }

  async function goodCall({ operationId, security, requestBody }: DocumentedOperation): Promise<Call> {
    const [scheme] = Object.keys(security[0] ?? {})
    const example = requestBody?.content?.['application/json']?.example
    const body =
      operationId === 'postLogin'
        ? { email: customer.email, password: PASSWORD }
        : operationId === 'postPassword'
          ? { current_password: PASSWORD, new_password: PASSWORD }
          : example
    const token = NEED_LOGIN_TOKEN.has(operationId)
      ? await app.login(customer.email)
      : scheme === 'loginToken'
        ? await app.addToken(customer, security[0]?.loginToken ?? [])
        : scheme === 'serviceToken'
          ? SERVICE_SECRET
          : null
    const isSession = operationId === 'deleteSessionsById'
    const id = isSession
      ? (await app.call('/api/sessions', { method: 'GET', token: String(token) })).body.sessions[0].id
      : ID
    return { token, id, body: body === undefined ? undefined : JSON.stringify(body) }
  }

  async function badCalls(operation: DocumentedOperation, good: Call): Promise<readonly Call[]> {
    const { operationId, security, requestBody, parameters = [] } = operation
    const calls: Call[] = [
      { ...good, headers: { Expect: 'the-unexpected' } },
      { ...good, headers: { Host: 'a b' } },
      { ...good, headers: { 'X-Padding': 'x'.repeat(20_000) } },
      { ...good, headers: { 'Content-Type': 'application/json' }, body: ' '.repeat(65_537) },
    ]
    if (security.length > 0) calls.push({ ...good, token: null }, { ...good, token: 'lk_invented' })
    if ((operation['x-abilities'] ?? []).length > 0)
      calls.push({ ...good, token: await app.addToken(customer, []) })
    if ((operation['x-scopes'] ?? []).length > 0) calls.push({ ...good, token: OTHER_SERVICE_SECRET })
    if (NEED_LOGIN_TOKEN.has(operationId)) calls.push({ ...good, token: await app.addToken(customer, ['*']) })
    if (operationId === 'postLogin')
      calls.push({ ...good, body: JSON.stringify({ email: customer.email, password: 'wrong' }) })
    if (requestBody !== undefined)
      calls.push(
        { ...good, body: '{' },
        { ...good, body: '{}' },
        { ...good, headers: { 'Content-Type': 'text/plain' } },
        { ...good, headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' } },
      )
    if (parameters.some((one) => one.in === 'query'))
      calls.push({ ...good, query: operationId === 'deleteSessions' ? '?except=another' : '?limit=many' })
    if (parameters.some((one) => one.in === 'path' && one.schema.format === 'uuid'))
      calls.push({ ...good, id: 'no-uuid' }, { ...good, id: OTHER_ID })
    else if (parameters.some((one) => one.in === 'path')) calls.push({ ...good, id: 'unknown' })
    return calls
  }

  function send(
    method: string,
    template: string,
    { token, id, query, body, headers }: Call,
  ): Promise<ApiResponse> {
    const path = template.replace(/\{\w+\}/, id ?? '') + (query ?? '')
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          port: app.port,
          path,
          method,
          agent: false,
          headers: {
            ...(token == null ? {} : { Authorization: `Bearer ${token}` }),
            ...(body === undefined
              ? {}
              : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
            ...headers,
          },
        },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
          )
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }
})
