import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import * as v from 'valibot'
import type { Route } from '../src/adapters/http/routing/declared-route.ts'
import { createTestApp } from '../src/testing/test-app.ts'
import { fencedBlocks } from './support/fenced-blocks.ts'
import { ownProgram } from './support/own-program.ts'

test('the examples of the context of a handler respond', async (t) => {
  const blocks = fencedBlocks('docs/reference/handler-context.md', 'ts')
  const head = "import { route } from 'latchkey'\nimport * as v from 'valibot'\n"
  const folder = await ownProgram('routes.ts', `${head}export const routes = [${blocks.join(',')}]`)
  t.after(() => folder.remove())
  const { routes } = (await import(join(folder.path, 'routes.ts'))) as { routes: readonly Route[] }
  const app = await createTestApp({ routes: () => routes })
  t.after(() => app.close())
  const customer = await app.customer({ email: 'ana@example.com' })
  const ana = await app.as(customer, { abilities: ['orders:read'] })
  const get = { method: 'GET', headers: { 'User-Agent': 'test', 'X-Request-Id': 'r-1' } }

  const expected = [
    [await ana.call('/api/context/caller', get), { email: 'ana@example.com', abilities: ['orders:read'] }],
    [await app.asService().call('/api/context/service', get), { service: 'tests' }],
    [
      await app.call('/api/context/7?tag=a&tag=b', { body: '{"quantity": 2 }' }),
      { id: '7', tags: ['a', 'b'], quantity: 2, bytes: 16 },
    ],
    [
      await app.call('/api/context/upload', {
        body: 'abc',
        headers: { 'Content-Type': 'application/octet-stream' },
      }),
      { bytes: 3 },
    ],
    [await app.call('/api/context/client', get), { agent: 'test', clientAddress: '127.0.0.1' }],
    [await app.call('/api/context/log', get), { requestId: 'r-1', traceId: null }],
    [await app.call('/api/context/time', get), { remains: true, aborted: false }],
    [await ana.call('/api/context/account', { method: 'DELETE' }), {}],
  ] as const
  for (const [{ status, body }, fields] of expected)
    assert.deepEqual([status, body], [200, { success: true, ...fields }])
  assert.equal(expected.length, routes.length)
  assert.equal((await ana.call('/api/me')).status, 401)
})

test('the documented schemas of input accept and refuse what the page says', async (t) => {
  const [block = ''] = fencedBlocks('docs/reference/input-schemas.md', 'ts')
  const folder = await ownProgram('schemas.ts', block)
  t.after(() => folder.remove())
  const schemas = (await import(join(folder.path, 'schemas.ts'))) as Record<string, v.GenericSchema>
  for (const [name, accepted, refused] of [
    [
      'wholeNumber',
      [
        ['7', 7],
        ['-7', -7],
        ['9007199254740991', 9007199254740991],
      ],
      ['', ' ', '7.0', '1e3', '0x1', '9007199254740993'],
    ],
    [
      'flag',
      [
        ['true', true],
        ['false', false],
      ],
      ['', '0', 'yes', 'TRUE'],
    ],
    [
      'time',
      [['2030-01-31T12:00:00Z', new Date(Date.UTC(2030, 0, 31, 12))]],
      ['2030-02-30T12:00:00Z', '2030-01-31', ''],
    ],
    ['count', [[0, 0]], [-1, 1.5, 2 ** 53, '1']],
    [
      'tags',
      [
        [undefined, []],
        [
          ['a', 'b'],
          ['a', 'b'],
        ],
      ],
      ['a', Array(11).fill('a')],
    ],
  ] as const) {
    const schema = schemas[name] as v.GenericSchema
    for (const [input, output] of accepted) assert.deepEqual(v.parse(schema, input), output)
    for (const input of refused) assert.equal(v.is(schema, input), false, `${name}: ${JSON.stringify(input)}`)
  }
})
