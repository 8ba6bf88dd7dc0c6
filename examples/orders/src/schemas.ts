import * as v from 'valibot'
import { decodeCursor } from './cursor.ts'
import { MAX_QUANTITY, noteProblem } from './order.ts'

const ID = '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34'
/** The cursor of the documentation's example. */
export const CURSOR = 'AAABj9EYlAA_KxyeXUdKhpwdD26Keyw0'

const uuid = v.pipe(v.string(), v.uuid(), v.examples([ID]))
const sku = v.pipe(v.string(), v.regex(/^[A-Z0-9][A-Z0-9-]{0,39}$/), v.examples(['A-100']))
const quantity = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_QUANTITY), v.examples([2]))
const note = v.nullable(
  v.pipe(
    v.string(),
    v.rawCheck(({ dataset, addIssue }) => {
      const message = dataset.typed ? noteProblem(dataset.value) : null
      if (message !== null) addIssue({ message })
    }),
    v.examples(['Leave it with the neighbour.']),
  ),
)

/** The body of a new order. */
export const newOrder = v.object({ sku, quantity, note: v.optional(note, null) })

/** The body of a change: at least one field. */
export const orderChange = v.pipe(
  v.object({ quantity: v.optional(quantity), note: v.optional(note) }),
  v.check(
    (change) => change.quantity !== undefined || change.note !== undefined,
    'Must have a quantity or a note.',
  ),
)

/** An order in a response. The owner is not part of it. */
export const orderResponse = v.object({
  id: uuid,
  sku,
  quantity,
  note: v.nullable(v.string()),
  placed_at: v.pipe(v.string(), v.isoTimestamp()),
})

/** The ID in a path. The stores have it in lower case. */
export const orderPath = v.object({ id: v.pipe(v.string(), v.uuid(), v.toLowerCase()) })

/** The query of the list: a number of orders after a cursor. */
export const pageQuery = v.object({
  after: v.optional(
    v.pipe(
      v.string(),
      v.check((cursor) => decodeCursor(cursor) !== null, 'Must be a cursor that a page ended with.'),
      v.examples([CURSOR]),
    ),
  ),
  limit: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,3}$/, 'Must be a whole number from 1 to 100.'),
      v.transform(Number),
      v.number(),
      v.minValue(1),
      v.maxValue(100),
    ),
    '20',
  ),
})
