import type { Order, OrderChange, Position } from './order.ts'

/** A customer's order by its id, which is a UUID in small letters. */
export interface OrderKey {
  readonly id: string
  /** An order of anybody else is not found: no call can forget whose it asks for. */
  readonly customerId: string
}

/**
 * The port of the orders. A call without a response within `timeoutMs` milliseconds throws `Unavailable`; if that
 * happens to a change, its outcome is unknown.
 */
export interface Orders {
  /** Stores a new order. */
  add(order: Order, timeoutMs: number): Promise<void>
  /** The customer's order, or null when there is none of this id. */
  find(key: OrderKey, timeoutMs: number): Promise<Order | null>
  /** At most `limit` of the customer's orders, newest first, behind `after`. */
  list(
    customerId: string,
    page: { readonly after: Position | null; readonly limit: number },
    timeoutMs: number,
  ): Promise<readonly Order[]>
  /** Changes what the change names and nothing else; answers the order as it is then, or null. */
  change(key: OrderKey, change: OrderChange, timeoutMs: number): Promise<Order | null>
  /** Removes the order; false when there is none. */
  remove(key: OrderKey, timeoutMs: number): Promise<boolean>
}
