import type { AnswerFields } from './answer-text.ts'

/** A success one of whose fields is a list that is sent while it is read, so that none of its length is kept. */
export class StreamedList {
  readonly field: string
  readonly items: AsyncIterable<unknown> | Iterable<unknown>
  /** The other fields of the answer. */
  readonly fields: AnswerFields

  constructor(field: string, items: StreamedList['items'], fields: AnswerFields) {
    this.field = field
    this.items = items
    this.fields = fields
  }
}

/**
 * A large list as an answer: `streamed('orders', rows)` is sent as `{ "success": true, "orders": [ … ] }`. A failure before
 * the first item is answered like any other; after it nothing can be taken back, and the connection breaks off.
 */
export function streamed(
  field: string,
  items: AsyncIterable<unknown> | Iterable<unknown>,
  fields: AnswerFields = {},
): StreamedList {
  return new StreamedList(field, items, fields)
}
