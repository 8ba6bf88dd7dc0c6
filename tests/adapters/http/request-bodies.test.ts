import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, describe, test } from 'node:test'
import * as v from 'valibot'
import { respond } from '../../../src/adapters/http/response/custom-response.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import { until } from '../../support/until.ts'

const LIMIT = 1000
const ODD_JSON = '{ "b" : 1.0,\n "a":"\\u00fc", "b": 2e0 }'

let app: TestApp
/** The streams that the handlers got. */
const streams: Readable[] = []
const aborted: unknown[] = []
/** The lengths of the bodies that the handler of `/any` got. */
const lengths: number[] = []
/** How the late bodies ended for their handler. */
const ends: string[] = []
before(async () => {
  app = await createTestApp({
    settings: { REQUEST_TIMEOUT: '1s', HEADERS_TIMEOUT: '1s' },
    routes: () => [
      route('POST /bytes', {
        auth: 'none',
        body: 'bytes',
        accepts: ['text/csv', 'image/*'],
        bodyLimitBytes: LIMIT,
        handle({ body }) {
          const typed: Uint8Array = body
          return { length: typed.length, text: Buffer.from(typed).toString('latin1') }
        },
      }),
      route('POST /any', {
        auth: 'none',
        body: 'bytes',
        handle({ body }) {
          lengths.push(body.length)
          return { length: body.length }
        },
      }),
      route('POST /raw', {
        auth: 'none',
        body: v.object({ a: v.string(), b: v.number() }),
        rawBody: true,
        handle: ({ body, rawBody }) => ({ ...body, raw: Buffer.from(rawBody).toString() }),
      }),
      route('POST /stream', {
        auth: 'none',
        body: 'stream',
        accepts: ['application/octet-stream'],
        bodyLimitBytes: 20_000_000,
        requestTimeout: '5m',
        async handle({ body, signal }) {
          streams.push(body)
          signal.addEventListener('abort', () => aborted.push(signal.reason))
          const hash = createHash('sha256')
          let length = 0
          for await (const chunk of body) {
            length += chunk.length
            hash.update(chunk)
          }
          return { length, sha256: hash.digest('hex') }
        },
      }),
      route('POST /deaf', {
        auth: 'none',
        body: 'stream',
        bodyLimitBytes: LIMIT,
        handle: ({ body }) =>
          new Promise<Record<string, never>>((resolve) => {
            streams.push(body)
            body.on('end', () => resolve({}))
            body.resume()
          }),
      }),
      route('POST /late', {
        auth: 'none',
        body: 'stream',
        deadlineMs: 100,
        async handle({ body }) {
          streams.push(body)
          ends.push(await body.toArray().then(() => 'whole', String))
          return {}
        },
      }),
      route('POST /ignored', { auth: 'none', body: 'stream', bodyLimitBytes: 5_000_000, handle: () => ({}) }),
      route('POST /echo', {
        auth: 'none',
        body: 'stream',
        bodyLimitBytes: 20_000_000,
        requestTimeout: '5m',
        handle({ body }) {
          const upper = new Transform({
            transform: (chunk, _, done) => done(null, Buffer.from(chunk.toString().toUpperCase())),
          })
          pipeline(body, upper).catch(() => {})
          return respond({ body: upper })
        },
      }),
      route('POST /json', { auth: 'none', body: v.object({}), handle: () => ({}) }),
    ],
  })
})
after(() => app.close())

const post = (path: string, body: string, headers = {}) => app.call(path, { body, headers })

describe('A route with a body of bytes', () => {
  test('gets the bytes unchanged, of a media type that it accepts', async () => {
    for (const type of ['text/csv', 'TEXT/CSV; charset=latin1', 'image/png'])
      assert.deepEqual((await post('/api/bytes', 'a,b\u0000', { 'Content-Type': type })).body, {
        success: true,
        length: 4,
        text: 'a,b\u0000',
      })
    assert.equal((await post('/api/any', 'x', { 'Content-Type': 'anything' })).body.length, 1)
    assert.equal((await app.call('/api/any')).body.length, 0)
    assert.equal((await app.call('/api/bytes')).body.length, 0)
  })

  test('does not call the handler when the client is gone', async () => {
    const before = lengths.length
    // After the whole request has arrived, and before its body is read.
    const leave = (message: unknown) => {
      const { request } = message as { readonly request: IncomingMessage }
      setImmediate(() => request.destroy())
    }
    subscribe('http.server.request.start', leave)
    try {
      await assert.rejects(post('/api/any', 'a'.repeat(10)))
    } finally {
      unsubscribe('http.server.request.start', leave)
    }
    assert.equal((await post('/api/any', 'abc')).body.length, 3)
    assert.deepEqual(lengths.slice(before), [3])
  })

  test('refuses another type, a content coding and too much', async () => {
    for (const type of ['text/plain', 'text/csvx', '']) {
      const { status, headers, body } = await post('/api/bytes', 'a', { 'Content-Type': type })
      assert.deepEqual(
        [status, body.reason, headers.get('accept'), body.error],
        [415, 'unsupported_media_type', 'text/csv, image/*', 'The body must be sent as text/csv or image/*.'],
      )
    }
    const coded = await post('/api/any', 'a', { 'Content-Encoding': 'gzip' })
    assert.deepEqual([coded.status, coded.headers.get('accept-encoding')], [415, 'identity'])
    const large = await post('/api/bytes', 'a'.repeat(LIMIT + 1), { 'Content-Type': 'text/csv' })
    assert.deepEqual([large.status, large.body.reason], [413, 'payload_too_large'])
  })
})

test('A JSON route with rawBody also gets the bytes of the body', async () => {
  const { body } = await post('/api/raw', ODD_JSON)
  assert.deepEqual(body, { success: true, a: 'ü', b: 2, raw: ODD_JSON })
})

describe('A route with a streamed body', () => {
  const octets = { 'Content-Type': 'application/octet-stream' }

  test('reads a large upload, with and without a declared length', async () => {
    const bytes = Buffer.alloc(10_000_000, 'abcdefg')
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    for (const headers of [{ ...octets, 'Content-Length': bytes.length }, octets]) {
      const text = await sendAll('/api/stream', headers, bytes)
      assert.deepEqual(JSON.parse(text), { success: true, length: bytes.length, sha256 })
    }
  })

  test('refuses another type before it reads', async () => {
    const before = streams.length
    assert.equal((await post('/api/stream', 'a', { 'Content-Type': 'text/csv' })).status, 415)
    assert.equal(streams.length, before)
  })

  test('fails with 413 above its limit, even if the handler does not notice', async () => {
    assert.equal((await post('/api/deaf', 'a'.repeat(LIMIT + 1))).status, 413)
    const text = await sendAll('/api/deaf', {}, Buffer.alloc(LIMIT + 1))
    assert.equal(JSON.parse(text).reason, 'payload_too_large')
    await until(() => streams.at(-1)?.destroyed === true)
  })

  test('responds without reading the body, and the connection serves the next request', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    const body = Buffer.alloc(3_000_000, 'x')
    socket.write(`POST /api/ignored HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`)
    socket.write(body)
    socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
    await until(() => received.split('HTTP/1.1 200').length === 3)
    socket.destroy()
  })

  test('fails for a handler that still reads after the response, so that a part does not look whole', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.write('POST /api/late HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na')
    await until(() => received.startsWith('HTTP/1.1 503'))
    socket.write('b')
    await until(() => ends.length > 0)
    assert.match(ends.join(), /The response was sent before the whole body was read/)
    socket.destroy()
  })

  test('can be sent back while it is read', async () => {
    const text = await sendAll('/api/echo', {}, Buffer.alloc(5_000_000, 'ab'))
    assert.equal(text.length, 5_000_000)
    assert.match(text, /^(AB)+$/)
  })

  test('destroys the stream and aborts the signal when the client leaves, and logs nothing', async () => {
    const before = { errors: app.errors.length, streams: streams.length, aborted: aborted.length }
    const sent = request(`${app.url}/api/stream`, { method: 'POST', headers: octets })
    sent.on('error', () => {})
    sent.write('part')
    await until(() => streams.length > before.streams)
    sent.destroy()
    await until(() => streams.at(-1)?.destroyed === true && aborted.length > before.aborted)
    assert.equal(app.errors.length, before.errors)
  })

  test('asks a client that waits for 100 Continue only when it is read', async () => {
    const sent = request(`${app.url}/api/stream`, {
      method: 'POST',
      headers: { ...octets, Expect: '100-continue', 'Content-Length': 2 },
    })
    const text = new Promise<string>((resolve) => sent.on('response', (r) => resolve(readAll(r))))
    sent.on('continue', () => sent.end('ab'))
    sent.flushHeaders()
    assert.equal(JSON.parse(await text).length, 2)
  })
})

test('A slow body gets 408, unless its route has a longer requestTimeout', async () => {
  const head = (path: string) =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: 2\r\n\r\na`
  const open = (path: string, type = '') => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
    const received = { text: '', socket }
    socket.on('data', (chunk) => {
      received.text += chunk
    })
    socket.write(head(path).replace('application/octet-stream', type || '$&'))
    return received
  }
  const slow = [open('/api/deaf'), open('/api/json', 'application/json')]
  const patient = open('/api/stream')
  await until(() => slow.every(({ text }) => /^HTTP\/1.1 408 .*request_timeout/s.test(text)))
  assert.equal(patient.text, '')
  patient.socket.write('b')
  await until(() => patient.text.startsWith('HTTP/1.1 200'))
  patient.socket.destroy()
})

test('Declarations of bodies that contradict themselves do not compile, and stop the start', () => {
  const handle = () => ({})
  const body = v.object({})
  const auth = 'none'
  for (const [declare, message] of [
    // @ts-expect-error accepts is for raw bodies
    [() => route('POST /a', { auth, body, accepts: ['text/csv'], handle }), /accepts needs body "bytes"/],
    // @ts-expect-error a raw body has no other raw body
    [() => route('POST /a', { auth, body: 'bytes', rawBody: true, handle }), /rawBody needs a schema/],
    // @ts-expect-error not a kind of body
    [() => route('POST /a', { auth, body: 'text', handle }), /body must be a schema, "bytes" or "stream"/],
    [() => route('POST /a', { auth, body: 'bytes', accepts: ['csv'], handle }), /write a media type such as/],
    [() => route('GET /a', { auth, body: 'stream', handle }), /a GET has no body/],
    // @ts-expect-error a duration has a unit
    [() => route('POST /a', { auth, body, requestTimeout: '90', handle }), /such as 90s or 5m/],
  ] as const)
    assert.throws(declare, message)
})

/** Sends the bytes; returns the text of the response. */
function sendAll(path: string, headers: object, bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(app.url + path, { method: 'POST', headers: { ...headers } })
    sent.on('response', (response) => resolve(readAll(response))).on('error', reject)
    for (let at = 0; at < bytes.length; at += 65_536) sent.write(bytes.subarray(at, at + 65_536))
    sent.end()
  })
}

async function readAll(response: Readable): Promise<string> {
  let text = ''
  for await (const chunk of response) text += chunk
  return text
}
