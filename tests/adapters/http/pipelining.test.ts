import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import * as v from 'valibot'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import { type Deferred, deferred } from '../../support/fakes.ts'
import { type RawResponse, sendRaw, takeResponse } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'

/** Less than one read of node's parser (64 KiB). On loopback, this number of bytes arrives at once. */
const FLOOD_BYTES = 60 * 1024
const LARGE_CHARACTERS = 64 * 1024

let app: TestApp
let port = 0
/** Requests of `GET /held` whose handler has begun. */
const held: Deferred<void>[] = []
let echoed = 0
let echoedBeforeCheck = 0
let large = 0

const routes = () => [
  route('GET /held', {
    auth: 'none',
    async handle() {
      const request = deferred<void>()
      held.push(request)
      await request.promise
      return {}
    },
  }),
  route('GET /echo/:n', {
    auth: 'none',
    handle({ params }) {
      echoed += 1
      return { n: params.n }
    },
  }),
  route('GET /check', {
    auth: 'none',
    handle() {
      echoedBeforeCheck = echoed
      return {}
    },
  }),
  route('GET /large', {
    auth: 'none',
    handle() {
      large += 1
      return { text: 'x'.repeat(LARGE_CHARACTERS) }
    },
  }),
  route('POST /length', {
    auth: 'none',
    body: v.string(),
    handle: ({ body }) => ({ length: body.length }),
  }),
]

before(async () => {
  app = await createTestApp({
    routes,
    settings: { HEADERS_TIMEOUT: '1s', REQUEST_TIMEOUT: '1s', BODY_LIMIT: '1000000' },
  })
  port = Number(new URL(app.url).port)
})
after(() => app.close())
beforeEach(() => {
  held.splice(0)
  echoed = 0
  large = 0
})

const get = (path: string, header = '') => `GET /api${path} HTTP/1.1\r\nHost: a\r\n${header}\r\n`
const post = (body: string, header = '') =>
  `POST /api/length HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${header}\r\n`
const statuses = (responses: readonly RawResponse[]) => responses.map(({ status }) => status)

/** Returns as many requests as fit in one segment, each with its number. */
function flood(): { readonly text: string; readonly count: number } {
  let text = ''
  let count = 0
  while (text.length < FLOOD_BYTES) text += get(`/echo/${count++}`)
  return { text, count }
}

/** A connection that collects its responses. */
class Client {
  readonly socket: Socket
  readonly responses: RawResponse[] = []
  closed = false
  #text = ''

  constructor(socket: Socket) {
    this.socket = socket.setNoDelay().setEncoding('latin1')
    socket
      .on('error', () => {})
      .on('close', () => {
        this.closed = true
      })
    socket.on('data', (text) => {
      this.#text += text
      for (
        let taken = takeResponse(this.#text, false);
        taken !== null;
        taken = takeResponse(this.#text, false)
      ) {
        this.responses.push(taken.response)
        this.#text = taken.rest
      }
    })
  }

  static async open(): Promise<Client> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new Client(socket)
  }
}

/** Waits until the server has done everything that it can do without further input. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) assert.equal((await app.call('/api/check', { method: 'GET' })).status, 200)
}

describe('pipelined requests', () => {
  test('are in progress 32 at a time, each further one when an earlier one ends', async () => {
    const client = await Client.open()
    client.socket.write(get('/held').repeat(100))
    await until(() => held.length === 32)
    await settle()
    assert.equal(held.length, 32)
    held[0]?.resolve()
    await until(() => held.length === 33)
    await settle()
    assert.equal(held.length, 33)
    for (let ended = 1; ended < 100; ended++) {
      await until(() => held.length > ended)
      held[ended]?.resolve()
    }
    await until(() => client.responses.length === 100)
    // Now the scheduler reads the connection. The limit must be the same.
    client.socket.write(get('/held').repeat(100))
    await until(() => held.length === 132)
    await settle()
    assert.equal(held.length, 132)
    client.socket.destroy()
  })

  test('of one segment all get their responses in order, repeatedly', async () => {
    const { text, count } = flood()
    const client = await Client.open()
    for (let round = 1; round <= 3; round++) {
      client.socket.write(text)
      await until(() => client.responses.length === round * count)
    }
    const numbers = client.responses.map(({ body }) => JSON.parse(body).n)
    assert.deepEqual(
      numbers,
      Array.from({ length: 3 * count }, (_, i) => String(i % count)),
    )
    client.socket.destroy()
  })

  for (const connections of [1, 20]) {
    test(`on ${connections} connections do not delay the request of another one until they are done`, async () => {
      const { text, count } = flood()
      const clients = await Promise.all(Array.from({ length: connections }, () => Client.open()))
      const other = await Client.open()
      for (const { socket } of clients) socket.write(text)
      other.socket.write(get('/check'))
      await until(() => other.responses.length === 1)
      assert.ok(echoedBeforeCheck < (connections * count) / 4, `${echoedBeforeCheck} came first`)
      await until(() => clients.every(({ responses }) => responses.length === count))
      for (const { socket } of [...clients, other]) socket.destroy()
    })
  }

  test('of a client that does not read are not dispatched when the socket buffer is full', async () => {
    const client = await Client.open()
    client.socket.pause()
    client.socket.write(get('/large').repeat(400))
    let before = -1
    await until(async () => {
      await settle()
      const isStill = before === large
      before = large
      return isStill
    })
    assert.ok(large < 300, `${large} were dispatched`)
    client.socket.resume()
    await until(() => client.responses.length === 400)
    client.socket.destroy()
  })

  test('with bodies, with and without an expectation, are served between others', async () => {
    const body = JSON.stringify('x'.repeat(200_000))
    const client = await Client.open()
    client.socket.write(get('/echo/0').repeat(50) + post(body) + body + get('/echo/1').repeat(50))
    await until(() => client.responses.length === 101)
    assert.equal(JSON.parse(client.responses[50]?.body ?? '').length, 200_000)
    client.socket.write(get('/echo/0').repeat(50) + post(body, 'Expect: 100-continue\r\n'))
    await until(() => client.responses.length === 152)
    assert.equal(client.responses[151]?.status, 100)
    client.socket.write(body + get('/echo/1'))
    await until(() => client.responses.length === 154)
    assert.equal(JSON.parse(client.responses[152]?.body ?? '').length, 200_000)
    client.socket.destroy()
  })

  test('behind Connection: close, or behind a refused request, are never dispatched', async () => {
    for (const [last, status] of [
      [get('/echo/x', 'Connection: close\r\n'), 200],
      ['GET /api/echo/x HTTP/1.1\r\n\r\n', 400],
      ['nonsense\r\n\r\n', 400],
      [post('x'.repeat(2_000_000)), 413],
    ] as const) {
      echoed = 0
      const { responses, closed } = await sendRaw(
        port,
        get('/echo/0').repeat(200) + last + get('/echo/1').repeat(200),
      )
      assert.deepEqual(statuses(responses), [...Array(200).fill(200), status])
      assert.equal(closed, true)
      assert.equal(echoed, status === 200 ? 201 : 200)
    }
  })

  test('that are queued are dropped when their client disconnects', async () => {
    const client = await Client.open()
    client.socket.write(get('/held').repeat(100))
    await until(() => held.length === 32)
    client.socket.destroy()
    await settle()
    for (const request of held) request.resolve()
    await settle()
    assert.equal(held.length, 32)
  })

  test('do not time out when their bytes arrived in time and wait to be parsed', async () => {
    const client = await Client.open()
    // More requests than are parsed before the first one ends, so that parsing stops within a request.
    client.socket.write(get('/echo/0'))
    await until(() => client.responses.length === 1)
    client.socket.write(get('/held').repeat(600))
    await until(() => held.length === 32)
    const slow = await Client.open()
    slow.socket.write('GET /api/che')
    await until(() => slow.responses.length === 1)
    assert.deepEqual(statuses(slow.responses), [408])
    for (let ended = 0; ended < 600; ended++) {
      await until(() => held.length > ended)
      held[ended]?.resolve()
    }
    await until(() => client.responses.length === 601)
    assert.deepEqual(new Set(statuses(client.responses)), new Set([200]))
    client.socket.destroy()
  })
})

describe('a drain', () => {
  test('serves the parsed pipelined requests, and closes the connection with the last one', async () => {
    const draining = await createTestApp({ routes })
    const client = new Client(connect(Number(new URL(draining.url).port), '127.0.0.1'))
    client.socket.write(get('/held').repeat(40))
    await until(() => held.length === 32)
    const closing = draining.close()
    for (let ended = 0; ended < 40; ended++) {
      await until(() => held.length > ended)
      held[ended]?.resolve()
    }
    await closing
    await until(() => client.closed)
    assert.deepEqual(statuses(client.responses), Array(40).fill(200))
    const closes = client.responses.map(({ headers }) =>
      headers.some(([name, value]) => name === 'Connection' && value === 'close'),
    )
    assert.deepEqual(closes, [...Array(39).fill(false), true])
  })
})
