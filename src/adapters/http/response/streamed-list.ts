import type { ResponseFields } from './json-body.ts'

/** A success with one list field that is sent while it is read, so that the list is never completely in memory. */
export class StreamedList<Field extends string = string, Item = unknown, Fields = ResponseFields> {
  readonly field: Field
  readonly items: AsyncIterable<Item> | Iterable<Item>
  /** The other fields of the response. */
  readonly fields: Fields

  constructor(field: Field, items: AsyncIterable<Item> | Iterable<Item>, fields: Fields) {
    this.field = field
    this.items = items
    this.fields = fields
  }
}

/**
 * Responds with a large list: `streamed('orders', rows)` is sent as `{ "success": true, "orders": [ … ] }`, in pieces of
 * 16 KiB, or 50 ms after an item that nothing follows. A failure before the first piece gets a response like any other.
 * After that the response cannot change, and the connection is reset.
 */
export function streamed<Field extends string, Item, Fields extends ResponseFields = Record<never, never>>(
  field: Field,
  items: AsyncIterable<Item> | Iterable<Item>,
  fields: Fields = {} as Fields,
): StreamedList<Field, Item, Fields> {
  return new StreamedList(field, items, fields)
}
