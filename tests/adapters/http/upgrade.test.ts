import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import { comparable, sendRaw } from '../../support/raw-http.ts'

let app: TestApp
let counted = 0
before(async () => {
  app = await createTestApp({
    routes: () => [
      route('POST /count', {
        auth: 'none',
        handle() {
          counted += 1
          return {}
        },
      }),
    ],
  })
})
after(() => app.close())

const send = (bytes: string | readonly string[]) => sendRaw(Number(new URL(app.url).port), bytes)
const COUNT = 'POST /api/count HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'

describe('a request with Upgrade', () => {
  for (const [kind, headers] of [
    ['websocket', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
    ['h2c', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'],
    ['a protocol that Connection does not name', 'Upgrade: h2c\r\n'],
  ])
    test(`to ${kind} gets its response with Connection: close, and none behind it is handled`, async () => {
      counted = 0
      const upgrade = `GET /livez HTTP/1.1\r\nHost: a\r\n${headers}\r\n`
      for (const bytes of [upgrade + COUNT.repeat(2), [upgrade, COUNT]]) {
        const { responses, closed } = await send(bytes)
        assert.deepEqual(
          responses.map(({ status }) => status),
          [200],
        )
        assert.equal(comparable(responses[0]).headers.Connection, 'close')
        assert.equal(closed, true)
      }
      assert.equal(counted, 0)
    })

  test('and a body is handled, and gets its response with Connection: close', async () => {
    counted = 0
    const body = `POST /api/count HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\n{}`
    const { responses, closed } = await send(body + COUNT)
    assert.equal(comparable(responses[0]).headers.Connection, 'close')
    assert.deepEqual([responses.length, closed, counted], [1, true, 1])
  })

  test('behind another request is handled after it', async () => {
    const upgrade = 'GET /livez HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'
    const { responses, closed } = await send(COUNT + upgrade + COUNT)
    assert.deepEqual([responses.length, closed], [2, true])
  })
})
