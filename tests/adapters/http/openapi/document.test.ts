import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as v from 'valibot'
import { STATUS_BY_REASON } from '../../../../src/adapters/http/failure-reasons.ts'
import { openApiDocument } from '../../../../src/adapters/http/openapi/document.ts'
import { builtInRoutes } from '../../../../src/adapters/http/routes/built-in-routes.ts'
import { probeRoutes } from '../../../../src/adapters/http/routes/probe-routes.ts'
import type { Route } from '../../../../src/adapters/http/routing/declared-route.ts'
import { route } from '../../../../src/adapters/http/routing/route.ts'
import { unboundUseCases } from '../../../../src/application/use-cases/unbound-use-cases.ts'
import { orderRoutes } from '../../../support/documented-routes.ts'
import { faultsOf, judge, type OpenApi, operationsOf, responseOf } from '../../../support/openapi.ts'

const INFO = { title: 'Shop', description: null, version: 'v4', serverUrl: 'https://api.example.com' }
const handle = () => ({})

function describeRoutes(routes: readonly Route[]): { document: OpenApi; problems: readonly string[] } {
  const { document, problems } = openApiDocument(routes, INFO)
  // The document is sent as JSON, which omits undefined values.
  return { document: JSON.parse(JSON.stringify(document)), problems }
}

const table = [
  ...builtInRoutes(unboundUseCases(), { version: '1.0.0', cachesMe: true }),
  ...probeRoutes(unboundUseCases(), async () => ({ ready: true, checks: {} })),
  ...orderRoutes(),
]
const { document, problems } = describeRoutes(table)
const operations = operationsOf(document)
const named = (id: string) => {
  const found = operations.find(({ operation }) => operation.operationId === id)?.operation
  assert.ok(found, `${id} is not in ${operations.map(({ operation }) => operation.operationId)}`)
  return found
}

describe('the OpenAPI document', () => {
  test('is a valid OpenAPI 3.1 document without problems', async () => {
    assert.match(document.openapi, /^3\.1\.\d$/)
    assert.deepEqual(await faultsOf(document), [])
    assert.deepEqual(problems, [])
    assert.deepEqual(
      [document.info.title, document.info.version, document.servers],
      ['Shop', 'v4', [{ url: 'https://api.example.com' }]],
    )
  })

  test('is invalid when a required part is missing or wrong', async () => {
    assert.notDeepEqual(await faultsOf({ ...document, info: { title: 'Shop' } }), [])
    assert.notDeepEqual(await faultsOf({ ...document, paths: { 'api/x': {} } }), [])
  })

  test('has each route once, by method and path', () => {
    assert.deepEqual(
      operations.map(({ method, path }) => `${method} ${path}`).sort(),
      table.map(({ method, path }) => `${method} ${path.replace(/:\w+/g, '{id}')}`).sort(),
    )
  })

  test('names each operation uniquely after its method and path', () => {
    const { document: similar } = describeRoutes([
      route('GET /orders/:id', { auth: 'none', handle }),
      route('GET /orders/by-id', { auth: 'none', handle }),
      route('GET /orders-by/id', { auth: 'none', handle }),
      route('DELETE /order_lines.csv', { auth: 'none', handle }),
    ])
    assert.deepEqual(
      operationsOf(similar).map(({ operation }) => operation.operationId),
      ['getOrdersById', 'getOrdersById2', 'getOrdersById3', 'deleteOrderLinesCsv'],
    )
    assert.ok(named('postLogin') && named('getLivez') && named('deleteOrdersByOrderId'))
  })

  test('has one path for routes that differ only in parameter names', () => {
    assert.deepEqual(Object.keys(document.paths['/api/orders/{id}'] ?? {}), ['get', 'delete'])
    assert.equal(named('deleteOrdersByOrderId').parameters?.[0]?.name, 'id')
  })

  test('has the authentication and the abilities of each operation', () => {
    assert.deepEqual(named('postLogin').security, [])
    assert.deepEqual(named('getStatus').security, [{ serviceToken: ['status'] }])
    assert.deepEqual(named('getStatus')['x-scopes'], ['status'])
    assert.equal(named('getStatus').description, 'The service token needs the scopes: `status`.')
    assert.deepEqual(named('postMe').security, [{ loginToken: [] }])
    assert.deepEqual(named('postOrders').security, [{ loginToken: ['orders:read', 'orders:write'] }])
    assert.deepEqual(named('postOrders')['x-abilities'], ['orders:read', 'orders:write'])
    assert.deepEqual(
      Object.values(document.components.securitySchemes).map(({ type, scheme }) => [type, scheme]),
      [
        ['http', 'bearer'],
        ['http', 'bearer'],
      ],
    )
  })

  test('describes requests before and responses after their transformation', () => {
    assert.deepEqual(named('getOrders').parameters, [
      { name: 'after', in: 'query', required: false, schema: { type: 'string', format: 'uuid' } },
      {
        name: 'limit',
        in: 'query',
        required: false,
        schema: { type: 'string', pattern: '^\\d{1,3}$', default: '20' },
      },
    ])
    const response = responseOf(document, named('getOrdersById'), 200)?.content?.['application/json']
    const { properties, required } = (response?.schema ?? {}) as {
      properties: Record<string, unknown>
      required: unknown
    }
    assert.deepEqual(Object.keys(properties), ['success', 'order'])
    assert.deepEqual(required, ['success', 'order'])
    assert.deepEqual(properties.success, { type: 'boolean', const: true })
    const { placed_at } = (properties.order as { properties: Record<string, unknown> }).properties
    assert.deepEqual(placed_at, { type: 'string', format: 'date-time' })
  })

  test('has no body for 204, and any fields for a route without a response schema', () => {
    assert.equal(responseOf(document, named('deleteOrdersByOrderId'), 204)?.content, undefined)
    const open = responseOf(document, named('getPublic'), 200)?.content?.['application/json']?.schema
    assert.equal(judge(document)(open ?? {}, { success: true, anything: 'goes' }), null)
    assert.notEqual(judge(document)(open ?? {}, { anything: 'goes' }), null)
  })

  test('describes a query without declared names as an object', () => {
    const query = v.record(v.string(), v.string())
    const { document: open } = describeRoutes([route('GET /find', { auth: 'none', query, handle })])
    const [parameter] = operationsOf(open)[0]?.operation.parameters ?? []
    assert.deepEqual(parameter?.schema.additionalProperties, { type: 'string' })
  })
})

describe('the failures of an operation', () => {
  const reasons = (id: string) =>
    Object.keys(named(id).responses)
      .filter((status) => !status.startsWith('2'))
      .flatMap((status) =>
        Object.keys(
          responseOf(document, named(id), Number(status))?.content?.['application/json']?.examples ?? {},
        ),
      )
      .sort()
  const ALWAYS = [
    'expectation_failed',
    'headers_too_large',
    'internal',
    'invalid_request',
    'payload_too_large',
    'request_timeout',
    'unavailable',
  ]

  const CUSTOMER = ['missing_token', 'invalid_token', 'too_many_requests'] as const

  for (const [id, more] of [
    ['getLivez', []],
    ['getStatus', ['invalid_service_token', 'insufficient_scope']],
    ['postMe', [...CUSTOMER]],
    ['postLogout', [...CUSTOMER, 'login_token_required']],
    [
      'postLogin',
      [
        'invalid_credentials',
        'too_many_sessions',
        'too_many_requests',
        'invalid_json',
        'unsupported_media_type',
        'validation_failed',
      ],
    ],
    ['getOrders', [...CUSTOMER, 'insufficient_scope', 'validation_failed']],
    ['getOrdersById', [...CUSTOMER, 'not_found', 'validation_failed']],
    ['deleteOrdersByOrderId', [...CUSTOMER, 'insufficient_scope', 'not_found']],
  ] as const) {
    test(`are those that ${id} can return`, () => assert.deepEqual(reasons(id), [...ALWAYS, ...more].sort()))
  }

  test('have the envelope, with every reason of the contract at its status', () => {
    const { properties } = document.components.schemas.Failure as {
      readonly properties: Readonly<Record<string, { readonly enum: readonly unknown[] }>>
    }
    const { code, reason } = properties
    assert.deepEqual(reason?.enum, Object.keys(STATUS_BY_REASON))
    assert.deepEqual(code?.enum, [...new Set(Object.values(STATUS_BY_REASON))])
    const findFault = judge(document)
    for (const { operation } of operations) {
      for (const status of Object.keys(operation.responses).filter((one) => !one.startsWith('2'))) {
        const media = responseOf(document, operation, Number(status))?.content?.['application/json']
        for (const [name, { value }] of Object.entries(media?.examples ?? {})) {
          assert.equal(STATUS_BY_REASON[name as keyof typeof STATUS_BY_REASON], Number(status))
          assert.equal(findFault(media?.schema ?? {}, value), null)
          assert.notEqual(findFault(media?.schema ?? {}, { ...(value as object), reason: 'other' }), null)
          assert.notEqual(findFault(media?.schema ?? {}, { ...(value as object), success: true }), null)
        }
      }
    }
  })

  test('name their headers', () => {
    const headers = (id: string, status: number) =>
      Object.keys(responseOf(document, named(id), status)?.headers ?? {}).filter(
        (name) => name !== 'X-Request-Id',
      )
    assert.deepEqual(headers('postMe', 401), ['WWW-Authenticate'])
    assert.deepEqual(headers('getOrders', 403), ['WWW-Authenticate'])
    assert.deepEqual(headers('postLogin', 415), ['Accept', 'Accept-Encoding'])
    assert.deepEqual(headers('postLogin', 503), ['Retry-After'])
    assert.deepEqual(headers('postLogin', 500), [])
  })
})

describe('the examples', () => {
  test('of request and response bodies are valid for their schemas', () => {
    const findFault = judge(document)
    let seen = 0
    for (const { operation } of operations) {
      const contents = [operation.requestBody, ...Object.values(operation.responses)].flatMap((part) => [
        part?.content?.['application/json'],
      ])
      for (const media of contents) {
        if (media?.example === undefined) continue
        seen++
        assert.equal(findFault(media.schema, media.example), null, operation.operationId)
      }
    }
    assert.ok(seen > 10, `${seen}`)
  })
})
