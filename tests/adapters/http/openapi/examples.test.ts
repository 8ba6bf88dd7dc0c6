import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import * as v from 'valibot'
import type { Schema } from '../../../../src/adapters/http/routing/declared-route.ts'
import { route } from '../../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../../src/testing/test-app.ts'
import { judge } from '../../../support/openapi.ts'

const COUNT = 100
/** Some generated schemas have no example that is easy to find. */
const CANDIDATES = 150

const text: fc.Arbitrary<Schema> = fc.oneof(
  fc.constant(v.string()),
  fc
    .tuple(fc.nat(9), fc.nat(9))
    .map(([min, more]) => v.pipe(v.string(), v.minLength(min), v.maxLength(min + more))),
  fc.constantFrom(/^[A-Z]{2}-\d+$/, /^te/, /^\d*$/).map((pattern) => v.pipe(v.string(), v.regex(pattern))),
  fc.constantFrom(
    v.pipe(v.string(), v.email()),
    v.pipe(v.string(), v.uuid()),
    v.pipe(v.string(), v.isoTimestamp()),
    v.pipe(v.string(), v.url()),
    v.pipe(v.string(), v.startsWith('lk_')),
    v.pipe(v.string(), v.trim(), v.nonEmpty()),
  ),
  fc.constant(v.picklist(['red', 'blue'])),
)
const number: fc.Arbitrary<Schema> = fc
  .record({
    least: fc.integer({ min: -50, max: 50 }),
    size: fc.nat(20),
    step: fc.integer({ min: 1, max: 9 }),
  })
  .chain(({ least, size, step }) =>
    fc.constantFrom<Schema>(
      v.pipe(v.number(), v.minValue(least), v.maxValue(least + size)),
      v.pipe(v.number(), v.gtValue(least)),
      v.pipe(v.number(), v.integer(), v.gtValue(least), v.ltValue(least + size + 2)),
      v.pipe(v.number(), v.integer(), v.multipleOf(step), v.minValue(least)),
      v.pipe(v.number(), v.multipleOf(step), v.ltValue(least)),
      v.pipe(v.string(), v.toNumber()),
    ),
  )
const { schema } = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    number,
    fc.constant(v.boolean()),
    fc.constantFrom<Schema>(v.literal('on'), v.literal(7), v.null()),
    tie('schema').map((item) => v.pipe(v.array(item), v.minLength(2))),
    tie('schema').map((inner) => v.optional(inner)),
    tie('schema').map((inner) => v.nullable(inner)),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema')).map((entries) => v.object({ ...entries })),
    fc.tuple(tie('schema'), tie('schema')).map((options) => v.union(options)),
  ),
}))

let app: TestApp
// biome-ignore lint/suspicious/noExplicitAny: the document is read field by field
let document: any
// biome-ignore lint/suspicious/noExplicitAny: as above
let paths: any
before(async () => {
  const fields = fc.sample(schema, CANDIDATES)
  app = await createTestApp({
    title: 'Shop',
    description: 'Sells lamps.',
    settings: { APP_VERSION: '3.2.1' },
    routes: () => [
      ...fields.map((field, n) =>
        route(`POST /body-${n}`, { auth: 'none', body: v.object({ field }), handle: () => ({}) }),
      ),
      ...fields.map((field, n) =>
        route(`GET /response-${n}`, {
          auth: 'none',
          returns: v.object({ field }),
          handle: () => ({}) as never,
        }),
      ),
      route('GET /date', {
        auth: 'none',
        returns: v.object({ at: v.date(), total: v.pipe(v.number(), v.transform(String), v.string()) }),
        handle: () => ({ at: new Date(0), total: 7 }),
      }),
      route('POST /union', {
        auth: 'none',
        body: v.union([
          v.object({ kind: v.literal('card'), number: v.string() }),
          v.pipe(v.object({ iban: v.pipe(v.string(), v.examples(['DE00'])) }), v.title('By transfer')),
        ]),
        handle: () => ({}),
      }),
      route('POST /same-name', {
        auth: 'none',
        body: v.union([
          v.object({ kind: v.literal('card'), number: v.string() }),
          v.object({ kind: v.literal('card'), iban: v.string() }),
        ]),
        handle: () => ({}),
      }),
      route('POST /long', {
        auth: 'none',
        body: v.union([
          v.object({ kind: v.literal('long'), text: v.pipe(v.string(), v.minLength(2 ** 31)) }),
          v.object({ kind: v.literal('short') }),
          v.object({ kind: v.literal('empty') }),
        ]),
        handle: () => ({}),
      }),
      route('GET /things/:id', {
        auth: 'none',
        params: v.object({ id: v.pipe(v.string(), v.uuid()) }),
        handle: () => ({}),
      }),
      route('POST /never', {
        auth: 'none',
        body: v.object({
          a: v.pipe(
            v.string(),
            v.check(() => false),
          ),
        }),
        handle: () => ({}),
      }),
    ],
  })
  document = (await app.call('/openapi.json', { method: 'GET' })).body
  paths = document.paths
})
after(() => app.close())

describe('The examples of the OpenAPI document', () => {
  test(`of ${COUNT} generated bodies are accepted by their own routes`, async () => {
    let accepted = 0
    for (let n = 0; n < CANDIDATES && accepted < COUNT; n++) {
      const { schema, example } = paths[`/api/body-${n}`].post.requestBody.content['application/json']
      if (example === undefined) continue
      const { status, body } = await app.call(`/api/body-${n}`, { body: example })
      assert.equal(status, 200, JSON.stringify({ schema, example, body }))
      accepted++
    }
    assert.equal(accepted, COUNT)
  })

  test(`of ${COUNT} generated responses fit their own schemas`, () => {
    const faultOf = judge(document)
    let fitting = 0
    for (let n = 0; n < CANDIDATES && fitting < COUNT; n++) {
      const { schema, example } = paths[`/api/response-${n}`].get.responses[200].content['application/json']
      if (example === undefined) continue
      assert.equal(faultOf(schema, example), null, JSON.stringify({ schema, example }))
      fitting++
    }
    assert.equal(fitting, COUNT)
  })

  test('of responses are what the schema makes of a value', () => {
    const { example } = paths['/api/date'].get.responses[200].content['application/json']
    assert.deepEqual(example, { success: true, at: '2030-01-31T12:00:00.000Z', total: '1' })
  })

  test('of a union have the names of its variants, and each is accepted', async () => {
    const { example, examples } = paths['/api/union'].post.requestBody.content['application/json']
    assert.equal(example, undefined)
    assert.deepEqual(examples, {
      card: { value: { kind: 'card', number: 'text' } },
      'By transfer': { value: { iban: 'DE00' } },
    })
    for (const { value } of Object.values(examples) as { value: unknown }[])
      assert.equal((await app.call('/api/union', { body: value })).status, 200)
  })

  test('of a union is one where its variants have the same name', () => {
    const content = paths['/api/same-name'].post.requestBody.content['application/json']
    assert.deepEqual([content.examples, content.example], [undefined, { kind: 'card', number: 'text' }])
  })

  test('of a union omit a variant whose value cannot be created', () => {
    const { examples } = paths['/api/long'].post.requestBody.content['application/json']
    assert.deepEqual(Object.keys(examples), ['short', 'empty'])
  })

  test('of path parameters are accepted', async () => {
    const [parameter] = paths['/api/things/{id}'].get.parameters
    assert.equal(parameter.example, '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34')
    assert.equal((await app.call(`/api/things/${parameter.example}`, { method: 'GET' })).status, 200)
  })

  test('are absent when no valid value is known', () => {
    const content = paths['/api/never'].post.requestBody.content['application/json']
    assert.deepEqual(Object.keys(content), ['schema'])
  })
})

test("The OpenAPI document has the program's title, version and description", async () => {
  const { info } = (await app.call('/openapi.json', { method: 'GET' })).body
  assert.deepEqual([info.title, info.version], ['Shop', '3.2.1'])
  assert.match(info.description, /^Sells lamps\.\n\n/)
})
