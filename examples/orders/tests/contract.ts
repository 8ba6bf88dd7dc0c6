import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { newestFirst, type Order, type Position } from '../src/order.ts'
import type { OrderKey, Orders } from '../src/orders.ts'

/** A generous timeout: the contract does not test speed. */
const TIMEOUT_MS = 30_000

/** The contract of `Orders`. The store may contain other orders: each test uses a new customer. */
export function ordersContract(name: string, create: () => Orders): void {
  describe(`${name} fulfils the contract of Orders:`, () => {
    it('returns an order as it was stored', async () => {
      const orders = create()
      for (const different of [
        {},
        { note: null },
        { note: `O'Hara; drop table orders; -- "$1" \\ 🦊\nà la carte` },
        { quantity: 1, placedAtMs: 0 },
        { quantity: 9999, placedAtMs: 1_700_000_000_001 },
      ]) {
        const order = await added(orders, different)
        assert.deepEqual(await orders.find(order, TIMEOUT_MS), order)
      }
    })

    it('refuses an ID that exists', async () => {
      const orders = create()
      const order = await added(orders)
      await assert.rejects(orders.add({ ...order, quantity: 7 }, TIMEOUT_MS))
      assert.deepEqual(await orders.find(order, TIMEOUT_MS), order)
    })

    it('lets no other customer find, list, change or remove an order', async () => {
      const orders = create()
      const order = await added(orders)
      const foreign: OrderKey = { id: order.id, customerId: randomUUID() }
      assert.equal(await orders.find(foreign, TIMEOUT_MS), null)
      assert.deepEqual(await orders.list(foreign.customerId, { after: null, limit: 10 }, TIMEOUT_MS), [])
      assert.equal(await orders.change(foreign, { quantity: 7 }, TIMEOUT_MS), null)
      assert.equal(await orders.remove(foreign, TIMEOUT_MS), false)
      assert.deepEqual(await orders.find(order, TIMEOUT_MS), order)
    })

    it('changes only the given fields', async () => {
      const orders = create()
      const order = await added(orders, { quantity: 2, note: 'old' })
      for (const [change, expected] of [
        [{ quantity: 3 }, { quantity: 3, note: 'old' }],
        [{ note: 'new' }, { quantity: 3, note: 'new' }],
        [{ note: null }, { quantity: 3, note: null }],
        [
          { quantity: 4, note: '' },
          { quantity: 4, note: '' },
        ],
        [{}, { quantity: 4, note: '' }],
      ] as const) {
        assert.deepEqual(await orders.change(order, change, TIMEOUT_MS), { ...order, ...expected })
        assert.deepEqual(await orders.find(order, TIMEOUT_MS), { ...order, ...expected })
      }
    })

    it('loses no concurrent change of different fields', async () => {
      const orders = create()
      const order = await added(orders, { quantity: 1, note: 'old' })
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          orders.change(order, i % 2 === 0 ? { quantity: 2 } : { note: 'new' }, TIMEOUT_MS),
        ),
      )
      assert.deepEqual(await orders.find(order, TIMEOUT_MS), { ...order, quantity: 2, note: 'new' })
    })

    it('removes an order once when many remove it concurrently', async () => {
      const orders = create()
      const order = await added(orders)
      const removals = await Promise.all(Array.from({ length: 20 }, () => orders.remove(order, TIMEOUT_MS)))
      assert.equal(removals.filter((isRemoved) => isRemoved).length, 1)
      assert.equal(await orders.find(order, TIMEOUT_MS), null)
      assert.equal(await orders.change(order, { quantity: 7 }, TIMEOUT_MS), null)
      assert.equal(await orders.remove(order, TIMEOUT_MS), false)
    })

    it('lists the newest first, in a stable order for equal times', async () => {
      const { orders, customerId, stored } = await several(create(), 30)
      assert.deepEqual(await orders.list(customerId, { after: null, limit: 100 }, TIMEOUT_MS), stored)
    })

    it('pages without gap or repetition, for any page size', async () => {
      const { orders, customerId, stored } = await several(create(), 30)
      for (const limit of [1, 7, 30, 31]) {
        assert.deepEqual(await paged(orders, customerId, limit), stored)
      }
    })

    it('pages through all orders of the first page’s time while others are added and removed', async () => {
      const { orders, customerId, stored } = await several(create(), 30)
      let atMs = Math.max(...stored.map(({ placedAtMs }) => placedAtMs))
      const shown = await paged(orders, customerId, 4, async (last) => {
        atMs += 1
        await added(orders, { customerId, placedAtMs: atMs })
        // The order at the cursor of the next page.
        await orders.remove({ id: last.id, customerId }, TIMEOUT_MS)
      })
      assert.deepEqual(shown, stored)
    })

    it('accepts the position of an order that does not exist', async () => {
      const { orders, customerId, stored } = await several(create(), 3)
      const page = (after: Position) => orders.list(customerId, { after, limit: 10 }, TIMEOUT_MS)
      assert.deepEqual(await page({ placedAtMs: 253_402_300_799_999, id: randomUUID() }), stored)
      assert.deepEqual(await page({ placedAtMs: 0, id: '00000000-0000-0000-0000-000000000000' }), [])
    })
  })
}

async function added(orders: Orders, different: Partial<Order> = {}): Promise<Order> {
  const order: Order = {
    id: randomUUID(),
    customerId: randomUUID(),
    sku: 'A-100',
    quantity: 2,
    note: 'Ring twice.',
    placedAtMs: 1_700_000_000_000,
    ...different,
  }
  await orders.add(order, TIMEOUT_MS)
  return order
}

/** Stores orders of one customer, three in each millisecond, and returns them in list order. */
async function several(orders: Orders, count: number) {
  const customerId = randomUUID()
  const stored = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      added(orders, { customerId, placedAtMs: 1_700_000_000_000 + Math.floor(i / 3) }),
    ),
  )
  return { orders, customerId, stored: stored.sort(newestFirst) }
}

async function paged(
  orders: Orders,
  customerId: string,
  limit: number,
  meanwhile: (last: Order) => Promise<void> = async () => {},
): Promise<readonly Order[]> {
  const shown: Order[] = []
  for (let after: Order | null = null; ; ) {
    const page: readonly Order[] = await orders.list(customerId, { after, limit }, TIMEOUT_MS)
    shown.push(...page)
    assert.ok(shown.length <= 1000, 'the list has no end')
    after = page.at(-1) ?? null
    if (after === null) return shown
    await meanwhile(after)
  }
}
