import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { type RawResponse, sendRaw } from '../../support/raw-http.ts'
import { type RunningApp, startApp } from '../../support/running-app.ts'

let app: RunningApp
before(async () => {
  app = await startApp({
    env: { CORS_ORIGINS: 'https://shop.example' },
    routes: () => [
      route('GET /text/:text', { auth: 'none', handle: ({ params }) => ({ text: params.text }) }),
      route('GET /later', { auth: 'none', handle: () => new Promise<void>((done) => setImmediate(done)) }),
    ],
  })
})
after(() => app.close())

const get = (path: string, ...fields: readonly string[]) =>
  `${[`GET ${path} HTTP/1.1`, 'Host: a', 'X-Request-Id: mine', ...fields].join('\r\n')}\r\n\r\n`

/** The fields of a response that do not depend on the connection. */
function fields({ headers }: RawResponse): readonly string[] {
  return headers
    .filter(([name]) => !['Connection', 'Keep-Alive', 'Date'].includes(name))
    .map(([name, value]) => `${name}: ${value}`)
    .sort()
}

describe('a response in one write', () => {
  for (const [kind, path, ...more] of [
    ['a success', '/api/text/a'],
    ['a success with characters of several bytes', `/api/text/${encodeURIComponent('é€😀')}`],
    ['a failure', '/api/none'],
    ['a failure with its own fields', '/api/me'],
    ['a response to another origin', '/api/text/a', 'Origin: https://shop.example'],
    ['a response that is sent later', '/api/later'],
  ] as const) {
    it(`is what node writes for ${kind}`, async () => {
      const closing = await sendRaw(app.port, get(path, ...more, 'Connection: close'))
      const open = await sendRaw(app.port, get(path, ...more), { responses: 1 })
      const [byNode, whole] = [closing.responses[0], open.responses[0]] as [RawResponse, RawResponse]
      assert.deepEqual([whole.status, whole.body], [byNode.status, byNode.body])
      assert.deepEqual(fields(whole), fields(byNode))
      const { Date: date, ...connection } = Object.fromEntries(
        whole.headers.filter(([name]) => ['Connection', 'Keep-Alive', 'Date'].includes(name)),
      )
      assert.deepEqual(connection, { Connection: 'keep-alive', 'Keep-Alive': 'timeout=75' })
      assert.ok(Math.abs(Date.parse(date as string) - Date.now()) < 60_000, date)
    })
  }

  it('of HEAD has no body', async () => {
    const head = get('/api/text/a').replace('GET', 'HEAD')
    const { responses } = await sendRaw(app.port, [head, head], { responses: 2, head: true })
    assert.deepEqual(
      responses.map(({ status, body }) => [status, body]),
      [
        [200, ''],
        [200, ''],
      ],
    )
  })

  it('keeps the order of pipelined requests', async () => {
    const paths = ['/api/later', '/api/text/1', '/api/text/2', '/api/later', '/api/text/3']
    const { responses } = await sendRaw(app.port, paths.map((path) => get(path)).join(''), { responses: 5 })
    assert.deepEqual(
      responses.map(({ body }) => JSON.parse(body).text),
      [undefined, '1', '2', undefined, '3'],
    )
  })
})
