import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as v from 'valibot'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { ValidationFailed } from '../../../src/domain/errors.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'

/** A schema, an invalid value, its sentence and its detail. */
const CASES: readonly (readonly [string, v.GenericSchema, unknown, string, object])[] = [
  ['missing', v.string(), undefined, 'Is required.', { code: 'required' }],
  ['string', v.string(), 7, 'Must be a string.', { code: 'type', type: 'string' }],
  ['number', v.number(), '7', 'Must be a number.', { code: 'type', type: 'number' }],
  ['boolean', v.boolean(), 1, 'Must be true or false.', { code: 'type', type: 'boolean' }],
  ['list', v.array(v.string()), {}, 'Must be a list.', { code: 'type', type: 'array' }],
  ['object', v.object({}), 'x', 'Must be an object.', { code: 'type', type: 'object' }],
  ['record', v.record(v.string(), v.number()), 7, 'Must be an object.', { code: 'type', type: 'object' }],
  [
    'integer',
    v.pipe(v.number(), v.integer()),
    1.5,
    'Must be a whole number.',
    { code: 'type', type: 'integer' },
  ],
  [
    'union',
    v.union([v.string(), v.number()]),
    true,
    'Must be a string or a number.',
    { code: 'type', type: ['string', 'number'] },
  ],
  [
    'nullable union',
    v.union([v.string(), v.null()]),
    7,
    'Must be a string or null.',
    { code: 'type', type: ['string', 'null'] },
  ],
  [
    'picklist',
    v.picklist(['red', 'blue']),
    'green',
    'Must be one of red, blue.',
    { code: 'one_of', allowed: ['red', 'blue'] },
  ],
  ['enum', v.enum({ A: 1, B: 2 } as const), 3, 'Must be one of 1, 2.', { code: 'one_of', allowed: [1, 2] }],
  ['literal', v.literal('on'), 'off', 'Must be on.', { code: 'one_of', allowed: ['on'] }],
  [
    'literals',
    v.union([v.literal('a'), v.literal(2)]),
    'b',
    'Must be one of a, 2.',
    { code: 'one_of', allowed: ['a', 2] },
  ],
  [
    'regex',
    v.pipe(v.string(), v.regex(/^[A-Z]+$/)),
    'a',
    'Must match the pattern ^[A-Z]+$.',
    { code: 'format', pattern: '^[A-Z]+$' },
  ],
  [
    'email',
    v.pipe(v.string(), v.email()),
    'a',
    'Must be an e-mail address.',
    { code: 'format', format: 'email' },
  ],
  [
    'starts with',
    v.pipe(v.string(), v.startsWith('lk_')),
    'a',
    'Must start with lk_.',
    { code: 'format', format: 'starts_with' },
  ],
  [
    'multiple',
    v.pipe(v.number(), v.multipleOf(5)),
    7,
    'Must be a multiple of 5.',
    { code: 'multiple_of', multiple_of: 5 },
  ],
  ['to number', v.pipe(v.string(), v.toNumber()), 'x', 'Must be a number.', { code: 'type', type: 'number' }],
  [
    'shortest',
    v.pipe(v.string(), v.minLength(15)),
    'x',
    'Must have a length of at least 15.',
    { code: 'min_length', min: 15 },
  ],
  [
    'longest',
    v.pipe(v.array(v.number()), v.maxLength(1)),
    [1, 2],
    'Must have a length of at most 1.',
    { code: 'max_length', max: 1 },
  ],
  [
    'length',
    v.pipe(v.string(), v.length(2)),
    'x',
    'Must have a length of 2.',
    { code: 'length', min: 2, max: 2 },
  ],
  [
    'bytes',
    v.pipe(v.string(), v.maxBytes(1)),
    'ü',
    'Must have a size in bytes of at most 1.',
    { code: 'max_bytes', max: 1 },
  ],
  ['not empty', v.pipe(v.string(), v.nonEmpty()), '', 'Must not be empty.', { code: 'min_length', min: 1 }],
  ['least', v.pipe(v.number(), v.minValue(3)), 2, 'Must be at least 3.', { code: 'min_value', min: 3 }],
  [
    'most, of large numbers',
    v.pipe(
      v.string(),
      v.transform((text: string) => BigInt(text)),
      v.maxValue(3n),
    ),
    '4',
    'Must be at most 3.',
    { code: 'max_value', max: '3' },
  ],
  [
    'large numbers',
    v.pipe(
      v.string(),
      v.transform((text: string) => BigInt(text)),
      v.values([1n, 2n]),
    ),
    '4',
    'Must be one of 1, 2.',
    { code: 'one_of', allowed: ['1', '2'] },
  ],
  ['most', v.pipe(v.number(), v.maxValue(3)), 4, 'Must be at most 3.', { code: 'max_value', max: 3 }],
  [
    'above',
    v.pipe(v.number(), v.gtValue(3)),
    3,
    'Must be greater than 3.',
    { code: 'min_value', min: 3, exclusive: true },
  ],
  [
    'below',
    v.pipe(v.number(), v.ltValue(3)),
    3,
    'Must be less than 3.',
    { code: 'max_value', max: 3, exclusive: true },
  ],
  [
    'own check',
    v.pipe(
      v.string(),
      v.check(() => false, 'Must be sold here.'),
    ),
    'x',
    'Must be sold here.',
    { code: 'invalid' },
  ],
  [
    'own sentence',
    v.pipe(v.string(), v.minLength(3, 'Too short: 3 letters.')),
    'x',
    'Too short: 3 letters.',
    { code: 'min_length', min: 3 },
  ],
  [
    'silent check',
    v.pipe(
      v.string(),
      v.check(() => false),
    ),
    'x',
    'Is not valid.',
    { code: 'invalid' },
  ],
]

let app: TestApp
before(async () => {
  app = await createTestApp({
    routes: () => [
      ...CASES.map(([, schema], n) =>
        route(`POST /case-${n}`, { auth: 'none', body: v.object({ field: schema }), handle: () => ({}) }),
      ),
      route('POST /strings', {
        auth: 'none',
        body: v.object({ field: v.array(v.string()) }),
        handle: () => ({}),
      }),
      route('POST /strict', {
        auth: 'none',
        body: v.strictObject({
          a: v.variant('kind', [v.object({ kind: v.literal('x') }), v.object({ kind: v.literal('y') })]),
        }),
        handle: () => ({}),
      }),
      route('POST /own', {
        auth: 'none',
        handle() {
          throw new ValidationFailed({ sku: ['Is not sold here.'] })
        },
      }),
      route('GET /list', {
        auth: 'none',
        query: v.object({
          tag: v.optional(v.array(v.pipe(v.string(), v.maxLength(3))), []),
          page: v.optional(v.string()),
        }),
        handle: ({ query }) => ({ tags: query.tag satisfies string[], page: query.page ?? null }),
      }),
      route('GET /free', { auth: 'none', handle: ({ query }) => ({ ...query }) }),
    ],
  })
})
after(() => app.close())

describe('An invalid field gets a sentence with the limit, and a detail for programs', () => {
  for (const [n, [name, , value, sentence, detail]] of CASES.entries())
    test(name, async () => {
      const { status, body } = await app.call(`/api/case-${n}`, { body: { field: value } })
      assert.deepEqual(
        [status, body.errors, body.details],
        [422, { field: [sentence] }, [{ field: 'field', ...detail }]],
      )
    })

  test('unknown fields and unknown kinds', async () => {
    const { body } = await app.call('/api/strict', { body: { a: { kind: 'z' }, b: 1 } })
    assert.deepEqual(body.details, [
      { field: 'a.kind', code: 'one_of', allowed: ['x', 'y'] },
      { field: 'b', code: 'unknown' },
    ])
    assert.deepEqual(body.errors, { 'a.kind': ['Must be one of x, y.'], b: ['Is not a known field.'] })
  })

  test('at most 100 of them', async () => {
    const numbers = Array.from({ length: 150 }, (_, n) => n)
    const { status, body } = await app.call('/api/strings', { body: { field: numbers } })
    assert.deepEqual([status, body.details.length, Object.keys(body.errors).length], [422, 100, 100])
  })

  test('also from a handler, and for a body that is nested too deeply', async () => {
    assert.deepEqual((await app.call('/api/own')).body.details, [{ field: 'sku', code: 'invalid' }])
    const deep = await app.call('/api/case-0', { body: `${'['.repeat(150)}${']'.repeat(150)}` })
    assert.deepEqual(deep.body.details, [{ field: 'body', code: 'max_depth', max: 100 }])
  })
})

describe('A repeated query parameter', () => {
  const get = (query: string) => app.call(`/api/list?${query}`, { method: 'GET' })

  test('reaches a schema of lists as a list, also if it is given once or never', async () => {
    assert.deepEqual((await get('tag=a&tag=b&page=2')).body, { success: true, tags: ['a', 'b'], page: '2' })
    assert.deepEqual((await get('tag=a')).body.tags, ['a'])
    assert.deepEqual((await get('')).body.tags, [])
    assert.deepEqual(Object.keys((await get('tag=a&tag=long')).body.errors), ['query.tag.1'])
  })

  test('is refused where one value is expected, unless the route has no schema', async () => {
    const { status, body } = await get('page=1&page=2')
    assert.deepEqual([status, body.errors], [422, { 'query.page': ['Must be given once.'] }])
    assert.deepEqual(body.details, [{ field: 'query.page', code: 'repeated' }])
    const free = await app.call('/api/free?a=1&a=2&__proto__=x', { method: 'GET' })
    assert.deepEqual([free.status, free.body.a], [200, '2'])
  })
})
