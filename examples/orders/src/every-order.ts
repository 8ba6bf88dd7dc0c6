import type { Order, Position } from './order.ts'
import type { Orders } from './orders.ts'

const PAGE = 200
const PAGE_WAIT_MS = 1000

/**
 * Every order of a customer, newest first, read page by page while they are sent: no connection to the database waits for
 * a slow client, and no more than a page is kept. Throws the signal's reason when nobody wants them any more.
 */
export async function* everyOrder<T>(
  orders: Orders,
  customerId: string,
  signal: AbortSignal,
  present: (order: Order) => T,
): AsyncGenerator<T, void> {
  for (let after: Position | null = null; ; ) {
    signal.throwIfAborted()
    const found: readonly Order[] = await orders.list(customerId, { after, limit: PAGE }, PAGE_WAIT_MS)
    for (const order of found) yield present(order)
    after = found.at(-1) ?? null
    if (found.length < PAGE) return
  }
}
