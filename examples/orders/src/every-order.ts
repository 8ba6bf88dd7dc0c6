import type { Order, Position } from './order.ts'
import type { Orders } from './orders.ts'

const PAGE = 200
const PAGE_TIMEOUT_MS = 1000

/**
 * Yields every order of a customer, newest first, and reads one page at a time: no database connection waits for a slow
 * client, and at most one page is in memory. Throws the signal's reason when it is aborted.
 */
export async function* everyOrder<T>(
  orders: Orders,
  customerId: string,
  signal: AbortSignal,
  present: (order: Order) => T,
): AsyncGenerator<T, void> {
  for (let after: Position | null = null; ; ) {
    signal.throwIfAborted()
    const found: readonly Order[] = await orders.list(customerId, { after, limit: PAGE }, PAGE_TIMEOUT_MS)
    for (const order of found) yield present(order)
    after = found.at(-1) ?? null
    if (found.length < PAGE) return
  }
}
