import assert from 'node:assert/strict'
import { describe as group, test } from 'node:test'
import * as v from 'valibot'
import { openApiDocument } from '../../../../src/adapters/http/openapi/document.ts'
import { exampleInput } from '../../../../src/adapters/http/openapi/example.ts'
import { describe } from '../../../../src/adapters/http/openapi/json-schema.ts'
import { route } from '../../../../src/adapters/http/routing/route.ts'
import { faultsOf, judge, type OpenApi, operationsOf } from '../../../support/openapi.ts'

interface Node {
  readonly name: string
  readonly children: readonly Node[]
}

const tree: v.GenericSchema<Node> = v.object({ name: v.string(), children: v.lazy(() => v.array(tree)) })

group('the JSON Schema of a valibot schema', () => {
  for (const [title, schema, side, expected, problemCount] of [
    [
      'describes a date in a response as text',
      v.date(),
      'output',
      { type: 'string', format: 'date-time' },
      0,
    ],
    ['allows any value for a date in a request', v.date(), 'input', {}, 1],
    [
      'ignores a custom check without a problem',
      v.pipe(
        v.string(),
        v.check(() => true),
      ),
      'input',
      { type: 'string' },
      0,
    ],
    ['describes trimmed text as text', v.pipe(v.string(), v.trim()), 'output', { type: 'string' }, 0],
    [
      'describes the input before a transformation',
      v.pipe(v.string(), v.transform(Number)),
      'input',
      { type: 'string' },
      0,
    ],
    [
      'describes the output after a transformation',
      v.pipe(v.string(), v.transform(Number), v.number()),
      'output',
      { type: 'number' },
      0,
    ],
    [
      'allows any value for the output of a transformation without a schema after it',
      v.pipe(v.string(), v.transform(Number)),
      'output',
      {},
      1,
    ],
    [
      'omits a pattern with flags',
      v.pipe(v.string(), v.minLength(2), v.regex(/^a/i)),
      'input',
      { type: 'string', minLength: 2 },
      1,
    ],
    ['allows any value for a class instance', v.instance(URL), 'output', {}, 1],
    ['allows any value for a custom type', v.custom<string>(() => true), 'input', {}, 1],
  ] as const) {
    test(title, () => {
      const { schema: described, problems } = describe(schema, side, 'x')
      assert.deepEqual(described, expected)
      assert.equal(problems.length, problemCount, problems.join())
    })
  }

  test('allows any value and reports a problem when the converter throws', () => {
    const broken = v.lazy((): v.GenericSchema => {
      throw new Error('not yet there')
    })
    const { schema, problems } = describe(broken, 'input', 'x')
    assert.deepEqual(schema, {})
    assert.equal(problems.length, 1)
  })

  test('puts a recursive schema among the components, under a unique name', async () => {
    const routes = [
      route('POST /trees', {
        auth: 'none',
        body: v.object({ tree }),
        returns: v.object({ tree }),
        handle: ({ body }) => body,
      }),
      route('PUT /trees', { auth: 'none', body: v.object({ tree }), handle: () => ({}) }),
    ]
    const { document, problems } = openApiDocument(routes, {
      title: 'T',
      description: null,
      version: 'v4',
      serverUrl: 'http://a',
    })
    const api = document as unknown as OpenApi
    assert.deepEqual(problems, [])
    assert.deepEqual(await faultsOf(document), [])
    const findFault = judge(api)
    for (const { operation } of operationsOf(api)) {
      const schema = operation.requestBody?.content?.['application/json']?.schema ?? {}
      const leaf = { name: 'leaf', children: [] }
      assert.equal(findFault(schema, { tree: { name: 'root', children: [leaf, leaf] } }), null)
      assert.notEqual(
        findFault(schema, { tree: { name: 'root', children: [{ name: 1, children: [] }] } }),
        null,
      )
      assert.doesNotThrow(() => JSON.stringify(document))
    }
  })
})

group('an example', () => {
  for (const [schema, expected] of [
    [v.pipe(v.string(), v.examples(['A-1', 'A-2'])), 'A-1'],
    [v.optional(v.string(), 'standard'), 'standard'],
    [v.literal('a'), 'a'],
    [v.picklist(['small', 'large']), 'small'],
    [v.nullable(v.boolean()), true],
    [v.array(v.pipe(v.number(), v.minValue(3))), [3]],
    [v.tuple([v.string(), v.pipe(v.number(), v.maxValue(0))]), ['text', 0]],
    [v.pipe(v.string(), v.email()), 'ana@example.com'],
    [v.pipe(v.string(), v.minLength(6)), 'text..'],
    [v.pipe(v.string(), v.maxLength(2)), 'te'],
    [v.intersect([v.object({ a: v.boolean() }), v.object({ b: v.boolean() })]), { a: true, b: true }],
    [v.variant('t', [v.object({ t: v.literal('a') }), v.object({ t: v.literal('b') })]), { t: 'a' }],
    [v.unknown(), null],
    [v.null(), null],
  ] as const) {
    test(`of ${JSON.stringify(describe(schema, 'input', 'x').schema)} is valid`, () => {
      assert.deepEqual(exampleInput(schema), expected)
      assert.ok(v.is(schema, expected))
    })
  }

  test('of a recursive schema is finite', () => {
    const chain: v.GenericSchema<unknown> = v.object({ next: v.lazy(() => chain) })
    assert.ok((JSON.stringify(exampleInput(chain)) ?? '').length < 1000)
  })
})
