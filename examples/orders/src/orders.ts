import type { Order, OrderChange, Position } from './order.ts'

/** The key of a customer's order. `id` is a UUID in lower case. */
export interface OrderKey {
  readonly id: string
  /** Required in every key, so that no call finds an order of another customer. */
  readonly customerId: string
}

/**
 * The port of the orders. A call without a response within `timeoutMs` milliseconds throws `Unavailable`; if that
 * happens to a change, its outcome is unknown.
 */
export interface Orders {
  /** Stores a new order. */
  add(order: Order, timeoutMs: number): Promise<void>
  /** Returns the customer's order, or null when it does not exist. */
  find(key: OrderKey, timeoutMs: number): Promise<Order | null>
  /** Returns at most `limit` of the customer's orders, newest first, after the position `after`. */
  list(
    customerId: string,
    page: { readonly after: Position | null; readonly limit: number },
    timeoutMs: number,
  ): Promise<readonly Order[]>
  /** Changes the given fields. Returns the changed order, or null when it does not exist. */
  change(key: OrderKey, change: OrderChange, timeoutMs: number): Promise<Order | null>
  /** Deletes the order. Returns false when it does not exist. */
  remove(key: OrderKey, timeoutMs: number): Promise<boolean>
}
