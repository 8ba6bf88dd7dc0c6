/** An order of a customer. Times are milliseconds since the Unix epoch. */
export interface Order {
  readonly id: string
  /** The owner. No other customer may learn that the order exists. */
  readonly customerId: string
  readonly sku: string
  readonly quantity: number
  readonly note: string | null
  readonly placedAtMs: number
}

/** The fields that can change. Absent fields stay unchanged; null removes the note. */
export interface OrderChange {
  readonly quantity?: number | undefined
  readonly note?: string | null | undefined
}

export const MAX_QUANTITY = 9999

/** Returns the problem with a note as one sentence, or null when the note is valid. */
export function noteProblem(note: string): string | null {
  if ([...note].length > 500) return 'Must have at most 500 characters.'
  if (!note.isWellFormed()) return 'Must be well-formed text.'
  // PostgreSQL cannot store NUL. Of the other control characters, a note needs only the line break.
  return /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(note)
    ? 'Must not contain control characters but line breaks.'
    : null
}

/** Returns the order after a change. */
export function applyChange(
  order: Order,
  { quantity = order.quantity, note = order.note }: OrderChange,
): Order {
  return { ...order, quantity, note }
}

/** The sort key of an order in the list. Times alone are not unique. */
export type Position = Pick<Order, 'placedAtMs' | 'id'>

/** Compares orders for the list: the newest first, and within one millisecond the greatest ID first. */
export function newestFirst(a: Position, b: Position): number {
  if (a.placedAtMs !== b.placedAtMs) return b.placedAtMs - a.placedAtMs
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0
}
