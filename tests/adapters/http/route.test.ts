import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as v from 'valibot'
import { MethodNotAllowed, NotFound } from '../../../src/adapters/http/errors.ts'
import { streamed } from '../../../src/adapters/http/response/streamed-list.ts'
import { type Route, RouteRefused } from '../../../src/adapters/http/routing/declared-route.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createRouter } from '../../../src/adapters/http/routing/router.ts'

const handle = () => ({})

describe('a route declaration', () => {
  const mistakes: readonly (readonly [string, () => Route])[] = [
    // @ts-expect-error auth has no default
    ['no auth', () => route('GET /a', { handle })],
    // @ts-expect-error not a kind of caller
    ['an unknown auth', () => route('GET /a', { auth: 'admin', handle })],
    // @ts-expect-error anonymous callers have no abilities
    ['abilities with auth none', () => route('GET /a', { auth: 'none', abilities: ['a'], handle })],
    // @ts-expect-error a service token has no abilities
    ['abilities with auth service', () => route('GET /a', { auth: 'service', abilities: ['a'], handle })],
    // @ts-expect-error only a service token has scopes
    ['scopes with auth customer', () => route('GET /a', { auth: 'customer', scopes: ['a'], handle })],
    // @ts-expect-error only a service token has scopes
    ['scopes with auth none', () => route('GET /a', { auth: 'none', scopes: ['a'], handle })],
    ['an invalid scope', () => route('GET /a', { auth: 'service', scopes: ['a b'], handle })],
    ['a scope with a wildcard', () => route('GET /a', { auth: 'service', scopes: ['a:*'], handle })],
    // @ts-expect-error a handler is required
    ['no handler', () => route('GET /a', { auth: 'none' })],
    // @ts-expect-error not a method
    ['an unknown method', () => route('FETCH /a', { auth: 'none', handle })],
    // @ts-expect-error a path begins with a slash
    ['a path without a slash', () => route('GET a', { auth: 'none', handle })],
    ['a trailing slash', () => route('GET /a/', { auth: 'none', handle })],
    ['the path of the folder itself', () => route('GET /', { auth: 'none', handle })],
    ['an empty segment', () => route('GET /a//b', { auth: 'none', handle })],
    ['a wildcard', () => route('GET /a/*', { auth: 'none', handle })],
    ['a regular expression', () => route('GET /a/:id(\\d+)', { auth: 'none', handle })],
    ['the same parameter twice', () => route('GET /:id/:id', { auth: 'none', handle })],
    ['an invalid ability', () => route('GET /a', { auth: 'customer', abilities: ['a b'], handle })],
    ['a body limit of zero', () => route('POST /a', { auth: 'none', bodyLimitBytes: 0, handle })],
    // @ts-expect-error not a failure reason
    ['an unknown failure reason', () => route('GET /a', { auth: 'none', throws: ['no_orders'], handle })],
    [
      'a deadline longer than any timer',
      () => route('GET /a', { auth: 'none', deadlineMs: 2_147_483_648, handle }),
    ],
    ['a deadline of zero', () => route('GET /a', { auth: 'none', deadlineMs: 0, handle })],
    [
      'a body that is not a schema',
      // @ts-expect-error not a valibot schema
      () => route('POST /a', { auth: 'none', body: { sku: 'string' }, handle }),
    ],
    [
      'an asynchronous body schema',
      // @ts-expect-error asynchronous checks belong in the handler
      () => route('POST /a', { auth: 'none', body: v.objectAsync({}), handle }),
    ],
    // @ts-expect-error not a status of a success
    ['the status of a failure', () => route('GET /a', { auth: 'none', status: 404, handle })],
    [
      'a parameter that the path does not have',
      () => route('GET /a/:id', { auth: 'none', params: v.object({ no: v.string() }), handle }),
    ],
    [
      'a number schema for a query parameter',
      () => route('GET /a', { auth: 'none', query: v.object({ page: v.optional(v.number()) }), handle }),
    ],
    [
      'a list schema for a path parameter',
      () => route('GET /a/:id', { auth: 'none', params: v.object({ id: v.array(v.string()) }), handle }),
    ],
    [
      'a response schema that is a list',
      // @ts-expect-error a response is an object of fields
      () => route('GET /a', { auth: 'none', returns: v.array(v.string()), handle: () => ['a'] }),
    ],
    [
      'a response schema that is a union',
      () =>
        route('GET /a', {
          auth: 'none',
          // @ts-expect-error a response is an object of fields
          returns: v.union([v.object({ a: v.string() }), v.object({ b: v.string() })]),
          handle: () => ({ a: 'a' }),
        }),
    ],
    [
      'a bigint in a response',
      () =>
        route('GET /a', { auth: 'none', returns: v.object({ n: v.bigint() }), handle: () => ({ n: 1n }) }),
    ],
    [
      'a response schema with the field success',
      () =>
        route('GET /a', {
          auth: 'none',
          returns: v.object({ success: v.boolean() }),
          handle: () => ({ success: true }),
        }),
    ],
    [
      'a response schema for status 204',
      () => route('GET /a', { auth: 'none', status: 204, returns: v.object({}), handle: () => ({}) }),
    ],
    ['a body on GET', () => route('GET /a', { auth: 'none', body: v.object({}), handle })],
  ]
  for (const [name, declare] of mistakes) {
    test(`with ${name} is refused in one sentence`, () => {
      assert.throws(declare, (error: Error) => error instanceof RouteRefused && !error.message.includes('\n'))
    })
  }

  test('types its handler from its schemas, its path and its caller', () => {
    const declared = route('POST /orders/:id/lines', {
      auth: 'customer',
      abilities: ['orders:write'],
      body: v.object({ quantity: v.number() }),
      query: v.object({ dry: v.optional(v.string()) }),
      handle({ customer, token, body, query, params, requestId }) {
        const typed: [string, string, number, string | undefined, string, string] = [
          customer.id,
          token.name,
          body.quantity,
          query.dry,
          params.id,
          requestId,
        ]
        // @ts-expect-error not in the path
        params.other
        // @ts-expect-error not in the schema
        body.other
        return { typed }
      },
    })
    route('GET /status/:id', {
      auth: 'service',
      handle({ service, ...rest }) {
        const name: string = service
        // @ts-expect-error a program has no customer
        rest.customer
        // @ts-expect-error a getter, which a rest omits
        rest.requestId
        return { name }
      },
    })
    assert.equal(declared.path, '/api/orders/:id/lines')
    assert.equal(Object.isFrozen(declared), true)
  })
})

test('the handler of a route with a response schema must return that type, which may be readonly', () => {
  const returns = v.object({ lines: v.array(v.object({ sku: v.string() })) })
  const lines: readonly { readonly sku: string }[] = [{ sku: 'A-1' }]
  route('GET /a', { auth: 'none', returns, handle: () => ({ lines }) })
  route('GET /a', { auth: 'none', returns, handle: () => streamed('lines', lines) })
  // @ts-expect-error the schema has no such list
  route('GET /a', { auth: 'none', returns, handle: () => streamed('rows', lines) })
  // @ts-expect-error the items have another type
  route('GET /a', { auth: 'none', returns, handle: () => streamed('lines', [1]) })
  // @ts-expect-error a field is missing
  route('GET /a', { auth: 'none', returns, handle: () => ({}) })
  // @ts-expect-error a field has another type
  route('GET /a', { auth: 'none', returns, handle: () => ({ lines: [{ sku: 1 }] }) })
  // @ts-expect-error nothing is returned
  route('GET /a', { auth: 'none', returns, handle: () => {} })
})

describe('the router', () => {
  const routes = [
    route('GET /orders/export', { auth: 'none', handle }),
    route('GET /orders/:id', { auth: 'none', handle }),
    route('GET /orders/:id/lines', { auth: 'none', handle }),
    route('DELETE /orders/:orderId', { auth: 'none', handle }),
  ]
  const match = createRouter(routes)
  const found = (method: string, path: string) => {
    const hit = match(method, path)
    return hit.kind === 'route' ? [hit.route.path, hit.params] : [hit.allow]
  }

  // Public case 020
  test('prefers a static segment and falls back to a parameter', () => {
    assert.deepEqual(found('GET', '/api/orders/export'), ['/api/orders/export', {}])
    assert.deepEqual(found('GET', '/api/orders/export/lines'), ['/api/orders/:id/lines', { id: 'export' }])
    assert.deepEqual(found('DELETE', '/api/orders/export'), ['/api/orders/:orderId', { orderId: 'export' }])
    assert.deepEqual(found('OPTIONS', '/api/orders/export'), ['DELETE, GET, HEAD, OPTIONS'])
  })

  test('compares static segments as they were sent and decodes parameters once', () => {
    assert.deepEqual(found('GET', '/api/orders/%65xport'), ['/api/orders/:id', { id: 'export' }])
    assert.deepEqual(found('GET', '/api/orders/%2525'), ['/api/orders/:id', { id: '%25' }])
    assert.deepEqual(found('GET', '/api/orders/a%2Flines'), ['/api/orders/:id', { id: 'a/lines' }])
    assert.deepEqual(found('GET', `/api/orders/${'a'.repeat(2000)}`), [
      '/api/orders/:id',
      { id: 'a'.repeat(2000) },
    ])
    assert.deepEqual(found('GET', '/api/orders/__proto__'), ['/api/orders/:id', { id: '__proto__' }])
  })

  // Public case 020 and case 099
  test('throws NotFound for an unknown path, also with an extra slash, and MethodNotAllowed for an unknown method', () => {
    assert.throws(() => match('GET', '/api/orders/export/'), NotFound)
    assert.throws(() => match('GET', '/api/orders/'), NotFound)
    assert.throws(() => match('GET', '//api/orders/1'), NotFound)
    assert.throws(
      () => match('PUT', '/api/orders/1'),
      (error) => error instanceof MethodNotAllowed && error.allow === 'DELETE, GET, HEAD, OPTIONS',
    )
  })

  test('refuses two routes with the same method and path, whatever their parameter names are', () => {
    const duplicates = [...routes, route('GET /orders/:number', { auth: 'none', handle })]
    assert.throws(() => createRouter(duplicates), RouteRefused)
  })
})
