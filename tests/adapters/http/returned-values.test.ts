import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'

class Account {
  readonly owner = 'Ana'
  readonly secret = 'hidden'
  toJSON() {
    return { owner: this.owner }
  }
}

let app: TestApp
let returned: unknown
before(async () => {
  app = await createTestApp({
    routes: () => [route('GET /value', { auth: 'none', handle: () => returned as Record<string, unknown> })],
  })
})
after(() => app.close())
const get = () => app.call('/api/value', { method: 'GET' })

test('toJSON of a returned object is honoured', async () => {
  returned = new Account()
  assert.deepEqual((await get()).body, { success: true, owner: 'Ana' })
})

test('objects of classes and without a prototype are sent with their fields', async () => {
  returned = new (class {
    readonly a = 1
  })()
  assert.deepEqual((await get()).body, { success: true, a: 1 })
  returned = Object.assign(Object.create(null), { b: 2, success: false })
  assert.deepEqual((await get()).body, { success: true, b: 2 })
})

describe('A returned value that is not an object of fields is a 500 with a sentence in the log', () => {
  for (const [value, message] of [
    ['hello', 'handle returned a value of type string: return an object of fields, or respond({ body }).'],
    [7, /a value of type number/],
    [10n, /a value of type bigint/],
    [null, /^handle returned null: return an object/],
    [[1], /^handle returned a list/],
    [new Date(0), /a value of type string/],
    [new Uint8Array(1), /a value of type object/],
    [new Map([['a', 1]]), /a value of type object/],
    [Readable.from([]), /a value of type object/],
    [{ total: 10n }, 'The field total is a bigint, which JSON does not have: return a number or a text.'],
  ] as const)
    test(String(message), async () => {
      returned = value
      const { status, body } = await get()
      assert.deepEqual([status, body.reason], [500, 'internal'])
      const found = (app.errors.at(-1) as Error).message
      if (typeof message === 'string') assert.equal(found, message)
      else assert.match(found, message)
    })
})
