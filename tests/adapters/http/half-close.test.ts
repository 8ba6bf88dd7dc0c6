import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { streamed } from '../../../src/adapters/http/response/streamed-list.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import { type Deferred, deferred } from '../../support/fakes.ts'
import { openRawClient, type RawClient } from '../../support/raw-client.ts'
import { until } from '../../support/until.ts'

/** Requests of `GET /held` whose handler has begun. */
const held: Deferred<void>[] = []
let aborted = 0
let returned = 0
let app: TestApp

before(async () => {
  app = await createTestApp({
    routes: () => [
      route('GET /held', {
        auth: 'none',
        async handle({ signal }) {
          const request = deferred<void>()
          held.push(request)
          signal.addEventListener('abort', () => {
            aborted += 1
            request.resolve()
          })
          await request.promise
          return {}
        },
      }),
      route('GET /silent', {
        auth: 'none',
        handle: ({ signal }) => streamed('items', firstItems(signal)),
      }),
    ],
  })
})
after(() => app.close())
beforeEach(() => {
  held.splice(0)
  aborted = 0
  returned = 0
})

/** Yields 20,000 items at once, then none until the signal aborts. */
async function* firstItems(signal: AbortSignal): AsyncGenerator<number> {
  try {
    for (let item = 0; item < 20_000; item++) yield item
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  } finally {
    returned += 1
  }
}

const request = (method: string, path: string, headers = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n${headers}\r\n`

/** Sends the bytes and closes the client's side. */
async function sendAndEnd(bytes: string): Promise<RawClient> {
  const client = await openRawClient(Number(new URL(app.url).port))
  client.socket.end(bytes)
  return client
}

describe('a client that closes its side after its request', () => {
  test('gets the response, although its handler takes a while, and then the connection closes', async () => {
    const client = await sendAndEnd(request('GET', '/api/held'))
    await until(() => held.length === 1)
    // Later requests: by now the server has read the client's end.
    for (let count = 0; count < 3; count++) await app.call('/livez', { method: 'GET' })
    assert.equal(client.received(), '')
    held[0]?.resolve()
    await until(client.isClosed)
    assert.match(client.received(), /^HTTP\/1\.1 200 /)
    assert.equal(aborted, 0)
  })

  test('gets the response to each of its pipelined requests', async () => {
    const client = await sendAndEnd(request('GET', '/api/held') + request('GET', '/livez').repeat(40))
    await until(() => held.length === 1)
    held[0]?.resolve()
    await until(client.isClosed)
    assert.equal(client.received().match(/HTTP\/1\.1 200 /g)?.length, 41)
  })

  test('gets the response to its logout', async () => {
    const { email, password } = await app.customer()
    const { token } = (await app.call('/api/login', { body: { email, password } })).body
    const client = await sendAndEnd(request('POST', '/api/logout', `Authorization: Bearer ${token}\r\n`))
    await until(client.isClosed)
    assert.match(client.received(), /^HTTP\/1\.1 200 [\s\S]*"success":true/)
  })

  test('counts as gone if nothing is sent for a time: the signal aborts and the generator returns', async () => {
    const waiting = await sendAndEnd(request('GET', '/api/held'))
    const streaming = await sendAndEnd(request('GET', '/api/silent'))
    await until(() => aborted === 1 && returned === 1)
    await until(() => waiting.isClosed() && streaming.isClosed())
  })

  test('in the middle of a request gets 400 or a closed connection', async () => {
    for (const part of [
      'GET /livez HT',
      'POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{',
    ]) {
      const client = await sendAndEnd(part)
      await until(client.isClosed)
      assert.match(client.received(), /^(HTTP\/1\.1 4\d\d |$)/)
    }
  })
})
