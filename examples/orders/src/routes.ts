import { NotFound, route, streamed } from 'latchkey'
import type { Clock, Ids } from 'latchkey/ports'
import * as v from 'valibot'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { everyOrder } from './every-order.ts'
import type { Order } from './order.ts'
import type { Orders } from './orders.ts'
import { newOrder, orderChange, orderPath, orderResponse, pageQuery } from './schemas.ts'

const tags = ['Orders']
const read = { auth: 'customer', abilities: ['orders:read'], tags } as const
const write = { auth: 'customer', abilities: ['orders:write'], tags } as const

/** Room for the longest note with each of its characters escaped. */
const BODY_LIMIT_BYTES = 8192
/** A slower client can fetch the pages instead. */
const EXPORT_MS = 60_000

/** The dependencies of the routes. */
export interface OrderRoutesOptions {
  readonly orders: Orders
  readonly clock: Clock
  readonly ids: Ids
}

/** Returns the routes under `/api/orders`. An order of another customer is 404. */
export function orderRoutes({ orders, clock, ids }: OrderRoutesOptions) {
  return [
    route('GET /orders', {
      ...read,
      query: pageQuery,
      returns: v.object({ orders: v.array(orderResponse), next: v.nullable(v.string()) }),
      summary: 'The orders of the customer, newest first, page by page',
      async handle({ customer, query: { after, limit }, deadline }) {
        const from = after === undefined ? null : decodeCursor(after)
        // One more than requested shows whether there is another page.
        const found = await deadline.run((timeoutMs) =>
          orders.list(customer.id, { after: from, limit: limit + 1 }, timeoutMs),
        )
        const shown = found.slice(0, limit)
        const last = shown.at(-1)
        return {
          orders: shown.map(present),
          next: found.length > limit && last !== undefined ? encodeCursor(last) : null,
        }
      },
    }),
    route('GET /orders/export', {
      ...read,
      deadlineMs: EXPORT_MS,
      returns: v.object({ orders: v.array(orderResponse) }),
      summary: 'All orders of the customer at once, newest first',
      handle: ({ customer, signal }) => streamed('orders', everyOrder(orders, customer.id, signal, present)),
    }),
    route('POST /orders', {
      ...write,
      body: newOrder,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      returns: v.object({ order: orderResponse }),
      status: 201,
      summary: 'Place an order',
      async handle({ customer, body, deadline }) {
        const order = { id: ids.next(), customerId: customer.id, ...body, placedAtMs: clock.nowMs() }
        await deadline.run((timeoutMs) => orders.add(order, timeoutMs))
        return { order: present(order) }
      },
    }),
    route('GET /orders/:id', {
      ...read,
      params: orderPath,
      returns: v.object({ order: orderResponse }),
      summary: 'One order',
      throws: ['not_found'],
      async handle({ customer, params: { id }, deadline }) {
        const order = await deadline.run((timeoutMs) =>
          orders.find({ id, customerId: customer.id }, timeoutMs),
        )
        return { order: present(orNotFound(order)) }
      },
    }),
    route('PATCH /orders/:id', {
      ...write,
      params: orderPath,
      body: orderChange,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      returns: v.object({ order: orderResponse }),
      summary: 'Change the quantity or the note of an order',
      throws: ['not_found'],
      async handle({ customer, params: { id }, body, deadline }) {
        const order = await deadline.run((timeoutMs) =>
          orders.change({ id, customerId: customer.id }, body, timeoutMs),
        )
        return { order: present(orNotFound(order)) }
      },
    }),
    route('DELETE /orders/:id', {
      ...write,
      params: orderPath,
      status: 204,
      summary: 'Delete an order; a second call returns 404',
      throws: ['not_found'],
      async handle({ customer, params: { id }, deadline }) {
        const isRemoved = await deadline.run((timeoutMs) =>
          orders.remove({ id, customerId: customer.id }, timeoutMs),
        )
        if (!isRemoved) throw new NotFound(NO_SUCH_ORDER)
      },
    }),
  ]
}

const NO_SUCH_ORDER = 'There is no such order.'

function orNotFound(order: Order | null): Order {
  if (order === null) throw new NotFound(NO_SUCH_ORDER)
  return order
}

function present({ id, sku, quantity, note, placedAtMs }: Order): v.InferOutput<typeof orderResponse> {
  return { id, sku, quantity, note, placed_at: new Date(placedAtMs).toISOString() }
}
