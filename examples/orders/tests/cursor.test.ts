import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { decodeCursor, encodeCursor } from '../src/cursor.ts'
import { CURSOR } from '../src/schemas.ts'

const LAST_MS = 253_402_300_799_999

test('a decoded cursor is the encoded position', () => {
  for (const placedAtMs of [0, 1, 1_717_200_000_123, LAST_MS]) {
    const position = { placedAtMs, id: randomUUID() }
    assert.deepEqual(decodeCursor(encodeCursor(position)), position)
  }
})

test('the example of the documentation is a cursor', () => assert.notEqual(decodeCursor(CURSOR), null))

for (const [what, cursor] of [
  ['nothing', ''],
  ['a word', 'next'],
  ['one with a character too many', `${CURSOR}A`],
  ['one with a character too few', CURSOR.slice(1)],
  ['one in another alphabet', CURSOR.replace(/.$/, '+')],
  ['one with a line behind it', `${CURSOR}\n`],
  ['one of a time that no database has', 'f'.repeat(32)],
  ['one of the first moment of the year 10000', encodeCursor({ placedAtMs: LAST_MS + 1, id: randomUUID() })],
  ['a very long one', CURSOR.repeat(1000)],
  ['a piece of SQL', `' or 1=1 --`],
] as const) {
  test(`${what} is no cursor`, () => assert.equal(decodeCursor(cursor), null))
}
