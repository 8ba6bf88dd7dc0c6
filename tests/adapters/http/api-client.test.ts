import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import ts from 'typescript'
import * as v from 'valibot'
import { type ApiClient, createApiClient } from '../../../src/adapters/http/client/api-client.ts'
import { NotFound } from '../../../src/adapters/http/errors.ts'
import type { BuiltInApi } from '../../../src/adapters/http/routes/built-in-routes.ts'
import { ApiError, type InferApi, type Route, respond, route } from '../../../src/package/index.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import type { TestCustomer } from '../../../src/testing/test-clients.ts'

class PaymentRequired extends ApiError {
  readonly status = 402
  readonly reason = 'payment_required'
}

const order = v.object({ sku: v.string(), quantity: v.pipe(v.number(), v.minValue(1)) })

function orderRoutes() {
  return [
    route('GET /orders', {
      auth: 'customer',
      query: v.object({ limit: v.optional(v.pipe(v.string(), v.toNumber())), tag: v.array(v.string()) }),
      returns: v.object({ limit: v.nullable(v.number()), tags: v.array(v.string()), at: v.date() }),
      handle: ({ query }) => ({ limit: query.limit ?? null, tags: query.tag, at: new Date(0) }),
    }),
    route('GET /orders/:id', {
      auth: 'none',
      returns: v.object({ id: v.string() }),
      throws: ['not_found', PaymentRequired],
      handle({ params }) {
        if (params.id === 'unknown') throw new NotFound('There is no such order.')
        if (params.id === 'unpaid') throw new PaymentRequired('Please pay.')
        return { id: params.id }
      },
    }),
    route('POST /orders', {
      auth: 'none',
      body: order,
      returns: v.object({ order }),
      responses: { 200: {}, 201: { headers: ['Location'] } },
      handle: ({ body }) =>
        respond({ status: 201, headers: { Location: '/api/orders/1' }, body: { order: body } }),
    }),
    route('PUT /files/:name', {
      auth: 'none',
      body: 'bytes',
      accepts: ['text/csv'],
      returns: v.object({ sha256: v.string() }),
      handle: ({ body }) => ({ sha256: createHash('sha256').update(body).digest('hex') }),
    }),
    route('GET /files/:name', {
      auth: 'none',
      responses: { 200: { type: 'text/csv' } },
      handle: () => respond({ type: 'text/csv', body: 'id\n1\n' }),
    }),
    route('DELETE /orders/:id', { auth: 'none', status: 204, handle() {} }),
  ]
}

type Api = InferApi<typeof orderRoutes> & BuiltInApi

let app: TestApp
let customer: TestCustomer
let token: string | null = null
let api: ApiClient<Api>
before(async () => {
  app = await createTestApp({ routes: orderRoutes })
  customer = await app.customer({ name: 'Ana' })
  api = createApiClient<Api>({ url: app.url, token: () => token })
})
after(() => app.close())

describe('The client of declared routes', () => {
  test('logs in, and sends the token of the moment', async () => {
    const { email, password } = customer
    const refused = await api('POST /me')
    assert.equal(refused.ok === false && refused.failure.reason, 'missing_token')
    const login = await api('POST /login', { body: { email, password } })
    assert.ok(login.ok)
    token = login.data.token
    const me = await api('POST /me')
    const name: string | null | false = me.ok && me.data.customer.name
    assert.equal(name, 'Ana')
  })

  test('sends the query with its lists, and types a date as the text that JSON makes of it', async () => {
    const found = await api('GET /orders', { query: { limit: '5', tag: ['a b', '&'] } })
    assert.ok(found.ok)
    const typed: { limit: number | null; tags: string[]; at: string; success: true } = found.data
    assert.deepEqual(typed, { success: true, limit: 5, tags: ['a b', '&'], at: '1970-01-01T00:00:00.000Z' })
  })

  test('fills in parameters, and refuses those that would lead to another route', async () => {
    const found = await api('GET /orders/:id', { params: { id: 'a/b?c#d e' } })
    assert.equal(found.ok && found.data.id, 'a/b?c#d e')
    for (const id of ['', '.', '..'])
      await assert.rejects(api('GET /orders/:id', { params: { id } }), RangeError)
  })

  test('returns failures with the reasons of the service and of own classes', async () => {
    const reasons: string[] = []
    for (const id of ['unknown', 'unpaid']) {
      const found = await api('GET /orders/:id', { params: { id } })
      assert.ok(!found.ok)
      const own: boolean = found.failure.reason === 'payment_required'
      reasons.push(`${found.status} ${found.failure.reason} ${own}`)
    }
    assert.deepEqual(reasons, ['404 not_found false', '402 payment_required true'])
    const invalid = await api('POST /orders', { body: { sku: 'a', quantity: 0 } })
    assert.deepEqual(!invalid.ok && invalid.failure.details?.map(({ field }) => field), ['quantity'])
  })

  test('returns the status and the headers of a declared response', async () => {
    const placed = await api('POST /orders', { body: { sku: 'a', quantity: 2 } })
    assert.ok(placed.ok)
    const status: 200 | 201 = placed.status
    assert.deepEqual([status, placed.data.order.quantity], [201, 2])
    assert.equal(placed.response.headers.get('Location'), '/api/orders/1')
  })

  test('uploads a Blob, and leaves a body that is not JSON unread', async () => {
    const body = new Blob(['id\n1\n'], { type: 'text/csv' })
    const uploaded = await api('PUT /files/:name', { params: { name: 'a' }, body })
    assert.equal(uploaded.ok && uploaded.data.sha256, createHash('sha256').update('id\n1\n').digest('hex'))
    const file = await api('GET /files/:name', { params: { name: 'a' } })
    assert.ok(file.ok)
    const data: null = file.data
    assert.deepEqual([data, await file.response.text()], [null, 'id\n1\n'])
    const deleted = await api('DELETE /orders/:id', { params: { id: 'a' } })
    assert.deepEqual(deleted.ok && [deleted.status, deleted.data], [204, null])
  })

  test('rejects when the response is not of a service, and when the call is cancelled', async () => {
    const foreign = (body: string, type: string) =>
      createApiClient<Api>({
        url: '',
        fetch: async () => new Response(body, { status: 502, headers: { 'Content-Type': type } }),
      })
    for (const [body, type] of [
      ['<h1>Bad gateway</h1>', 'text/html'],
      ['{"error":"bad gateway"}', 'application/json'],
      ['null', 'application/json'],
    ] as const)
      await assert.rejects(foreign(body, type)('POST /logout'), /POST \/logout: the response of status 502/)
    await assert.rejects(api('POST /me', { signal: AbortSignal.abort() }), { name: 'AbortError' })
  })

  test('compiles only what the routes declare', () => {
    const refused = () => [
      // @ts-expect-error no such route
      api('GET /order'),
      // @ts-expect-error the parameter is missing
      api('GET /orders/:id'),
      // @ts-expect-error no such parameter
      api('GET /orders/:id', { params: { id: 'a', other: 'b' } }),
      // @ts-expect-error the query is required
      api('GET /orders'),
      // @ts-expect-error a query is text
      api('GET /orders', { query: { limit: 5, tag: [] } }),
      // @ts-expect-error the body is required
      api('POST /orders'),
      // @ts-expect-error the field has another type
      api('POST /orders', { body: { sku: 'a', quantity: '2' } }),
      // @ts-expect-error the route takes bytes
      api('PUT /files/:name', { params: { name: 'a' }, body: 'id' }),
      // @ts-expect-error the route has no body
      api('POST /logout', { body: {} }),
      // @ts-expect-error an annotation has erased the types
      createApiClient<InferApi<readonly Route[]>>({ url: '' })('GET /orders'),
    ]
    const hint: keyof InferApi<readonly Route[]> =
      'The list is annotated as Route[], which erases its types: remove the annotation.'
    const misread = async () => {
      const found = await api('GET /orders/:id', { params: { id: 'a' } })
      // @ts-expect-error not known before `ok` is
      found.data
      // @ts-expect-error no route has such a reason
      if (!found.ok) found.failure.reason === 'unpaid'
      // @ts-expect-error not in the response
      if (found.ok) found.data.sku
    }
    assert.equal([refused, misread, hint].length, 3)
  })

  test('loads no module, so that it runs in a browser', () => {
    const file = join(import.meta.dirname, '../../../src/adapters/http/client/api-client.ts')
    const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
    })
    assert.match(outputText, /export function createApiClient/)
    assert.doesNotMatch(outputText, /\b(import|require|process|Buffer)\b/)
  })
})
