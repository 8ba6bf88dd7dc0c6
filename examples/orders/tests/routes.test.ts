import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Unavailable } from 'latchkey'
import { randomIds } from 'latchkey/adapters/node-crypto'
import { systemClock } from 'latchkey/adapters/system-clock'
import { createTestApp, type TestApp } from 'latchkey/testing'
import { memoryOrders } from '../src/adapters/memory-orders.ts'
import type { Orders } from '../src/orders.ts'
import { orderRoutes } from '../src/routes.ts'
import { CURSOR } from '../src/schemas.ts'

interface Received {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests compare responses field by field
  readonly body: any
}

const BOTH = ['orders:read', 'orders:write']
const PLACED = { sku: 'A-100', quantity: 2 }

describe('The routes of the orders', () => {
  const stored = memoryOrders()
  /** The store that the routes call; a test can replace it. */
  let orders: Orders = stored
  let app: TestApp
  before(async () => {
    const seen: Orders = {
      add: (...all) => orders.add(...all),
      find: (...all) => orders.find(...all),
      list: (...all) => orders.list(...all),
      change: (...all) => orders.change(...all),
      remove: (...all) => orders.remove(...all),
    }
    app = await createTestApp({
      routes: () => orderRoutes({ orders: seen, clock: systemClock, ids: randomIds }),
    })
  })
  after(() => app.close())

  /** Creates a customer with a token, and returns a function that calls the service with it. */
  async function createCaller(abilities: readonly string[] = BOTH) {
    const customer = await app.customer()
    const caller = await app.as(customer, { abilities })
    async function call(method: string, path: string, body?: unknown): Promise<Received> {
      const { status, body: received } = await caller.call(path, { method, body })
      return { status, body: received }
    }
    return Object.assign(call, { customer })
  }

  test('create, read, change, list and delete an order', async () => {
    const call = await createCaller()
    const placed = await call('POST', '/api/orders', PLACED)
    assert.equal(placed.status, 201)
    const { order } = placed.body
    assert.deepEqual(order, { id: order.id, ...PLACED, note: null, placed_at: order.placed_at })
    assert.ok(Math.abs(Date.parse(order.placed_at) - Date.now()) < 60_000)

    const path = `/api/orders/${order.id}`
    assert.deepEqual(await call('GET', path), { status: 200, body: { success: true, order } })
    assert.deepEqual(await call('PATCH', path, { note: 'Ring twice.' }), {
      status: 200,
      body: { success: true, order: { ...order, note: 'Ring twice.' } },
    })
    assert.deepEqual((await call('PATCH', path, { note: null, quantity: 3 })).body.order, {
      ...order,
      quantity: 3,
    })
    assert.deepEqual(await call('GET', '/api/orders'), {
      status: 200,
      body: { success: true, orders: [{ ...order, quantity: 3 }], next: null },
    })
    assert.deepEqual(await call('DELETE', path), { status: 204, body: null })
    for (const method of ['GET', 'DELETE']) assertMissing(await call(method, path))
    assertMissing(await call('PATCH', path, { quantity: 1 }))
  })

  test('accept an ID in upper case', async () => {
    const call = await createCaller()
    const { id } = (await call('POST', '/api/orders', PLACED)).body.order
    assert.equal((await call('GET', `/api/orders/${id.toUpperCase()}`)).body.order.id, id)
  })

  test("return the same response for another customer's order and for one that does not exist", async () => {
    const [owner, other] = [await createCaller(), await createCaller()]
    const { order } = (await owner('POST', '/api/orders', PLACED)).body
    for (const [method, body] of [['GET'], ['PATCH', { quantity: 9 }], ['DELETE']] as const) {
      const foreign = await other(method, `/api/orders/${order.id}`, body)
      const never = await other(method, `/api/orders/${randomUUID()}`, body)
      assertMissing(foreign)
      assert.deepEqual(withoutId(foreign), withoutId(never))
    }
    assert.deepEqual((await other('GET', '/api/orders')).body.orders, [])
    assert.deepEqual((await other('GET', '/api/orders/export')).body.orders, [])
    assert.deepEqual((await owner('GET', `/api/orders/${order.id}`)).body.order, order)
  })

  test('do not reveal the owner, and ignore an owner in the body', async () => {
    const [owner, other] = [await createCaller(), await createCaller()]
    const id = randomUUID()
    const placed = await owner('POST', '/api/orders', {
      ...PLACED,
      id,
      customerId: other.customer.id,
      customer_id: other.customer.id,
    })
    assert.notEqual(placed.body.order.id, id)
    assert.deepEqual(Object.keys(placed.body.order).sort(), ['id', 'note', 'placed_at', 'quantity', 'sku'])
    assert.equal((await owner('GET', '/api/orders')).body.orders.length, 1)
    assert.deepEqual((await other('GET', '/api/orders')).body.orders, [])
  })

  for (const [ability, allowed, denied] of [
    ['orders:read', ['GET'], ['POST', 'PATCH', 'DELETE']],
    ['orders:write', ['POST', 'PATCH', 'DELETE'], ['GET']],
    ['orders:*', ['GET', 'POST', 'PATCH', 'DELETE'], []],
    ['invoices:read', [], ['GET', 'POST', 'PATCH', 'DELETE']],
  ] as const) {
    test(`let ${ability} do ${allowed.join(', ') || 'nothing'}`, async () => {
      const call = await createCaller([ability])
      const calls = {
        GET: ['/api/orders', '/api/orders/export', `/api/orders/${randomUUID()}`],
        POST: ['/api/orders'],
        PATCH: [`/api/orders/${randomUUID()}`],
        DELETE: [`/api/orders/${randomUUID()}`],
      }
      for (const [methods, isDenied] of [
        [allowed, false],
        [denied, true],
      ] as const) {
        for (const method of methods) {
          for (const path of calls[method]) {
            const { status } = await call(method, path, method === 'POST' ? PLACED : undefined)
            assert.equal(status === 403, isDenied, `${method} ${path} returned ${status}`)
          }
        }
      }
    })
  }

  test('refuse requests without a token', async () => {
    for (const [method, path] of [
      ['GET', '/api/orders'],
      ['GET', '/api/orders/export'],
      ['POST', '/api/orders'],
      ['GET', `/api/orders/${randomUUID()}`],
      ['PATCH', `/api/orders/${randomUUID()}`],
      ['DELETE', `/api/orders/${randomUUID()}`],
    ] as const) {
      assert.equal((await app.call(path, { method })).status, 401, `${method} ${path}`)
    }
  })

  test('page through the list; the last page has no next one', async () => {
    const call = await createCaller()
    const ids = await place(call, 5)
    const sizes: number[] = []
    const shown: string[] = []
    for (let after = ''; ; ) {
      const { orders: page, next } = (await call('GET', `/api/orders?limit=2${after}`)).body
      sizes.push(page.length)
      shown.push(...page.map(({ id }: { id: string }) => id))
      if (next === null) break
      after = `&after=${next}`
    }
    assert.deepEqual(sizes, [2, 2, 1])
    assert.deepEqual(shown.sort(), ids.sort())
    assert.equal((await call('GET', '/api/orders?limit=5')).body.next, null)
  })

  test('return 20 orders a page, or the requested number up to 100', async () => {
    const call = await createCaller()
    await place(call, 101)
    for (const [query, count] of [
      ['', 20],
      ['?limit=1', 1],
      ['?limit=100', 100],
    ] as const) {
      const { orders: page, next } = (await call('GET', `/api/orders${query}`)).body
      assert.deepEqual([page.length, next === null], [count, false])
    }
  })

  test('export all orders, over several pages of the store', async () => {
    const call = await createCaller()
    const ids = await place(call, 401)
    const all = (await call('GET', '/api/orders/export')).body
    assert.deepEqual(Object.keys(all), ['success', 'orders'])
    assert.deepEqual(all.orders.map(({ id }: { id: string }) => id).sort(), ids.sort())
  })

  for (const [field, query] of [
    ...[
      '',
      'next',
      CURSOR.slice(1),
      `${CURSOR}A`,
      '%27%20or%201=1',
      '%00',
      '%FF',
      'f'.repeat(32),
      'A'.repeat(9000),
    ].map((cursor) => ['query.after', `after=${cursor}`] as const),
    ...['', '0', '101', '-1', '1.5', '1e1', '0x10', '%20', '%00', '9'.repeat(400)].map(
      (limit) => ['query.limit', `limit=${limit}`] as const,
    ),
  ]) {
    test(`refuse a list with ${query.slice(0, 40)}`, async () => {
      const call = await createCaller()
      const { status, body } = await call('GET', `/api/orders?${query}`)
      assert.deepEqual([status, Object.keys(body.errors)], [422, [field]])
    })
  }

  for (const id of [
    '1',
    'null',
    `${randomUUID()}x`,
    `${randomUUID()}%0A`,
    '%27;--',
    '%F0%9F%A6%8A',
    '..%2Fexport',
    'x'.repeat(9000),
  ]) {
    test(`refuse the id ${id.slice(0, 40)}`, async () => {
      const call = await createCaller()
      for (const method of ['GET', 'DELETE']) {
        const { status, body } = await call(method, `/api/orders/${id}`)
        assert.deepEqual([status, Object.keys(body.errors)], [422, ['params.id']])
      }
    })
  }

  for (const [fields, body] of [
    ['sku', { quantity: 1 }],
    ...['', 'a-100', '-A', 'A 1', 'A\u0000', 'Ä', 'A'.repeat(41), 7, null, ['A']].map(
      (sku) => ['sku', { sku, quantity: 1 }] as const,
    ),
    ['quantity', { sku: 'A' }],
    ...[0, -1, 10_000, 1.5, '2', null, true, [1]].map(
      (quantity) => ['quantity', { sku: 'A', quantity }] as const,
    ),
    ['quantity', '{"sku":"A","quantity":1e999}'],
    ...['a\u0000b', '\u001b[31m', '\ud800', 'x'.repeat(501), 7, {}].map(
      (note) => ['note', { sku: 'A', quantity: 1, note }] as const,
    ),
    ['sku,quantity', []],
    ['sku,quantity', {}],
    ['body', 'null'],
    ['body', '"order"'],
  ] as const) {
    test(`refuse to place ${JSON.stringify(body).slice(0, 50)}`, async () => {
      const call = await createCaller()
      const response = await call('POST', '/api/orders', body)
      assert.equal(response.status, 422)
      assert.equal(Object.keys(response.body.errors).join(), fields)
      assert.deepEqual((await call('GET', '/api/orders')).body.orders, [])
    })
  }

  test('refuse an empty change, and a change to an invalid value', async () => {
    const call = await createCaller()
    const { order } = (await call('POST', '/api/orders', PLACED)).body
    for (const [field, change] of [
      ['body', {}],
      ['body', { sku: 'B' }],
      ['quantity', { quantity: 0 }],
      ['quantity', { quantity: null, note: 'x' }],
      ['note', { note: '\u0000' }],
    ] as const) {
      const { status, body } = await call('PATCH', `/api/orders/${order.id}`, change)
      assert.deepEqual([status, Object.keys(body.errors)], [422, [field]])
    }
    assert.deepEqual((await call('GET', `/api/orders/${order.id}`)).body.order, order)
  })

  test('accept the longest note with all characters escaped, and no longer body', async () => {
    const call = await createCaller()
    const note = '\\ud83e\\udd8a'.repeat(500)
    const placed = await call('POST', '/api/orders', `{"sku":"A","quantity":1,"note":"${note}"}`)
    assert.deepEqual([placed.status, placed.body.order?.note], [201, '🦊'.repeat(500)])
    const padding = 'x'.repeat(8192)
    for (const [method, path] of [
      ['POST', '/api/orders'],
      ['PATCH', `/api/orders/${placed.body.order.id}`],
    ] as const) {
      assert.equal((await call(method, path, { ...PLACED, padding })).status, 413)
    }
  })

  test('return 503 when the store is unavailable, and reveal nothing of an unknown error', async (t) => {
    t.after(() => {
      orders = stored
    })
    const call = await createCaller()
    const { id } = (await call('POST', '/api/orders', PLACED)).body.order
    for (const [error, expected] of [
      [new Unavailable(), 503],
      [new Error('relation "orders" does not exist'), 500],
    ] as const) {
      const fail = () => Promise.reject(error)
      orders = { add: fail, find: fail, list: fail, change: fail, remove: fail }
      for (const [method, path, body] of [
        ['GET', '/api/orders'],
        ['GET', '/api/orders/export'],
        ['POST', '/api/orders', PLACED],
        ['GET', `/api/orders/${id}`],
        ['PATCH', `/api/orders/${id}`, { quantity: 1 }],
        ['DELETE', `/api/orders/${id}`],
      ] as const) {
        const response = await call(method, path, body)
        assert.equal(response.status, expected, `${method} ${path}`)
        assert.doesNotMatch(JSON.stringify(response.body), /relation/)
      }
    }
  })
})

async function place(
  call: (method: string, path: string, body: unknown) => Promise<Received>,
  count: number,
): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push((await call('POST', '/api/orders', PLACED)).body.order.id)
  return ids
}

function assertMissing({ status, body }: Received): void {
  assert.deepEqual([status, body.reason, body.error], [404, 'not_found', 'There is no such order.'])
}

function withoutId({ status, body: { request_id, ...body } }: Received): object {
  assert.ok(request_id)
  return { status, body }
}
