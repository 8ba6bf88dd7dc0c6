import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as v from 'valibot'
import { describeError } from '../../../src/adapters/http/response/error-report.ts'
import { conforming } from '../../../src/adapters/http/response/response-mismatch.ts'
import { Unavailable } from '../../../src/domain/errors.ts'

const on = { messages: true }
const off = { messages: false }
const text = (error: unknown, options = on) => JSON.stringify(describeError(error, options))

describe('The description of an error', () => {
  test('has only the message of a database error, without quoted values', () => {
    for (const [message, code, shown] of [
      ['duplicate key value violates unique constraint "orders_number"', '23505', undefined],
      ['invalid input syntax for type uuid: "canary"', '22P02', 'The database rejected a value.'],
      ['value "canary" is out of range for type integer', '22003', 'The database rejected a value.'],
      ['invalid byte sequence for encoding "UTF8": 0xca', '22021', 'The database rejected a value.'],
    ] as const) {
      const more = {
        code,
        severity: 'ERROR',
        detail: 'canary',
        where: 'canary',
        hint: 'canary',
        parameters: ['canary'],
      }
      const error = Object.assign(new Error(message), more)
      assert.equal(describeError(error, on).message, shown ?? message)
      assert.doesNotMatch(text(error), /canary|0xca/)
    }
  })

  test('has only the code, the name and the frames when messages are off, for any message', () => {
    const error = Object.assign(new TypeError('canary\n    at canary (canary:1)\ncanary'), { code: 'E_CODE' })
    const { error: name, code, stack, ...rest } = describeError(error, off)
    assert.deepEqual([name, code, rest], ['TypeError', 'E_CODE', {}])
    assert.match(stack ?? '', /^ {4}at .*error-report\.test\.ts/)
    assert.doesNotMatch(text(error, off), /canary/)
    assert.doesNotMatch(text(new Error('x', { cause: 'canary' }), off), /canary/)
  })

  test('has every error of a failed connection to several addresses', () => {
    const refused = (address: string) => new Error(`connect ECONNREFUSED ${address}`)
    const error = new Unavailable({ cause: new AggregateError([refused('::1'), refused('127.0.0.1')]) })
    assert.match(text(error.cause), /::1.*127\.0\.0\.1/)
  })

  test('is short for circular causes, long messages and long chains of causes', () => {
    const one = new Error('one')
    const two = new Error('x'.repeat(1_000_000), { cause: one })
    one.cause = two
    const { causes = [] } = describeError(one, on)
    assert.equal(causes.length, 1)
    assert.ok((causes[0]?.message?.length ?? 0) < 5000)
    let chain = new Error('end')
    for (let length = 0; length < 1000; length++) chain = new Error(`${length}`, { cause: chain })
    assert.equal(describeError(chain, on).causes?.length, 5)
  })

  test('exists for any thrown value', () => {
    const unreadable = new Error('x')
    Object.defineProperty(unreadable, 'message', {
      get() {
        throw new Error('canary')
      },
    })
    const odd = Object.assign(new Error('x'), { name: Symbol('name'), stack: 5, code: {} })
    const proxy = new Proxy(new Error('x'), {
      get() {
        throw new Error('canary')
      },
    })
    for (const thrown of [
      undefined,
      null,
      5,
      Symbol('a'),
      {},
      [],
      () => {},
      unreadable,
      odd,
      proxy,
      Object.create(null),
    ])
      for (const options of [on, off]) {
        const described = describeError(thrown, options)
        assert.equal(typeof described.error, 'string')
        assert.doesNotMatch(JSON.stringify(described), /canary/)
      }
  })
})

describe('The error of a response that does not fit its schema', () => {
  const sentence = (schema: v.GenericSchema, response: unknown): string => {
    try {
      conforming(schema, response)
    } catch (error) {
      return (error as Error).message
    }
    throw new Error('It fits.')
  }

  test('names ten fields by their paths, and never a value or the key of a record', () => {
    const byEmail = v.object({ all: v.record(v.string(), v.number()) })
    assert.match(
      sentence(byEmail, { all: { 'canary@example.com': 'canary' } }),
      /: all\.\*: expected number$/,
    )
    assert.match(sentence(v.object({}), 'canary'), /: the whole: expected Object$/)
    assert.match(
      sentence(v.object({ a: v.picklist(['x', 'y']) }), { a: 'canary' }),
      /: a: expected \("x" \| "y"\)$/,
    )
    assert.match(
      sentence(v.object({ a: v.pipe(v.string(), v.email()) }), { a: 'canary' }),
      /: a: expected email$/,
    )
    assert.match(
      sentence(
        v.object({
          a: v.pipe(
            v.string(),
            v.check(() => false),
          ),
        }),
        { a: 'canary' },
      ),
      /: a: expected check$/,
    )
    const many = sentence(v.object({ a: v.array(v.number()) }), { a: Array(25).fill('canary') })
    assert.match(many, /a\.9: expected number; and 15 more$/)
    assert.doesNotMatch(many, /canary/)
  })
})
