import * as v from 'valibot'
import { NotFound } from '../../src/adapters/http/errors.ts'
import { streamed } from '../../src/adapters/http/response/streamed-list.ts'
import { route } from '../../src/adapters/http/routing/route.ts'

const order = v.object({
  sku: v.pipe(v.string(), v.minLength(1), v.examples(['A-100'])),
  quantity: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(99)),
  note: v.optional(v.nullable(v.string())),
})
const stored = v.object({
  id: v.pipe(v.string(), v.uuid()),
  ...order.entries,
  placed_at: v.date(),
})
const tags = ['Orders']
const ID = '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34'

const anOrder = () => ({ id: ID, sku: 'A-100', quantity: 1, note: null, placed_at: new Date(0) })

/** Routes as an implementer declares them, one of each kind that the API document distinguishes. */
export function orderRoutes() {
  return [
    route('GET /orders', {
      auth: 'customer',
      abilities: ['orders:read'],
      query: v.object({
        after: v.optional(v.pipe(v.string(), v.uuid())),
        limit: v.optional(
          v.pipe(v.string(), v.regex(/^\d{1,3}$/), v.transform(Number), v.number(), v.maxValue(100)),
          '20',
        ),
      }),
      returns: v.object({ orders: v.array(stored), next: v.nullable(v.string()) }),
      summary: 'The orders of the customer, page by page',
      tags,
      handle: () => streamed('orders', [anOrder()], { next: null }),
    }),
    route('POST /orders', {
      auth: 'customer',
      abilities: ['orders:read', 'orders:write'],
      body: order,
      returns: v.object({ order: stored }),
      status: 201,
      summary: 'Place an order',
      tags,
      handle: ({ body }) => ({ order: { ...anOrder(), ...body } }),
    }),
    route('GET /orders/:id', {
      auth: 'customer',
      params: v.object({ id: v.pipe(v.string(), v.uuid()) }),
      returns: v.object({ order: stored }),
      summary: 'One order',
      tags,
      handle({ params }) {
        if (params.id !== ID) throw new NotFound('There is no such order.')
        return { order: anOrder() }
      },
    }),
    route('DELETE /orders/:orderId', {
      auth: 'customer',
      abilities: ['orders:write'],
      status: 204,
      summary: 'Withdraw <b id=planted>an order</b>',
      tags,
      handle({ params }) {
        if (params.orderId === 'unknown') throw new NotFound('There is no such order.')
      },
    }),
    route('GET /public', { auth: 'none', handle: () => ({ anything: 'goes' }) }),
  ]
}
