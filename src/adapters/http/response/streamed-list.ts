import type { ResponseFields } from './json-body.ts'

/** A success one of whose fields is a list that is sent while it is read, so that none of its length is kept. */
export class StreamedList<Field extends string = string, Item = unknown, Fields = ResponseFields> {
  readonly field: Field
  readonly items: AsyncIterable<Item> | Iterable<Item>
  /** The other fields of the answer. */
  readonly fields: Fields

  constructor(field: Field, items: AsyncIterable<Item> | Iterable<Item>, fields: Fields) {
    this.field = field
    this.items = items
    this.fields = fields
  }
}

/**
 * A large list as an answer: `streamed('orders', rows)` is sent as `{ "success": true, "orders": [ … ] }`. A failure before
 * the first item is answered like any other; after it nothing can be taken back, and the connection breaks off.
 */
export function streamed<Field extends string, Item, Fields extends ResponseFields = Record<never, never>>(
  field: Field,
  items: AsyncIterable<Item> | Iterable<Item>,
  fields: Fields = {} as Fields,
): StreamedList<Field, Item, Fields> {
  return new StreamedList(field, items, fields)
}
