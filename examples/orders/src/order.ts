/** What a customer wants to have. Times are milliseconds since the Unix epoch. */
export interface Order {
  readonly id: string
  /** The owner, the only one who may know that the order exists. */
  readonly customerId: string
  readonly sku: string
  readonly quantity: number
  readonly note: string | null
  readonly placedAtMs: number
}

/** What a change may touch; what is not in it stays. A note of null is no note. */
export interface OrderChange {
  readonly quantity?: number | undefined
  readonly note?: string | null | undefined
}

export const MAX_QUANTITY = 9999

/** A problem with a note as one sentence, or null when it may be stored. */
export function noteProblem(note: string): string | null {
  if ([...note].length > 500) return 'Must have at most 500 characters.'
  if (!note.isWellFormed()) return 'Must be well-formed text.'
  // A NUL is no text to a database; of the others a line break is all that a note needs.
  return /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(note)
    ? 'Must not contain control characters but line breaks.'
    : null
}

/** The order after a change. */
export function changed(order: Order, { quantity = order.quantity, note = order.note }: OrderChange): Order {
  return { ...order, quantity, note }
}

/** Where an order stands in the list, which the time alone does not decide. */
export type Position = Pick<Order, 'placedAtMs' | 'id'>

/** The order of the list: the newest first, and of those of one millisecond the greatest id. */
export function newestFirst(a: Position, b: Position): number {
  if (a.placedAtMs !== b.placedAtMs) return b.placedAtMs - a.placedAtMs
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0
}
