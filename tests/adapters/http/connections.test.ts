import assert from 'node:assert/strict'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { sendRaw } from '../../support/raw-http.ts'
import { type RunningApp, startApp } from '../../support/running-app.ts'
import { until } from '../../support/until.ts'

let app: RunningApp
let handled = 0
let begun = 0
let aborted = 0
beforeEach(() => {
  begun = 0
})
before(async () => {
  app = await startApp({
    env: { BODY_LIMIT: '1024', HEADERS_TIMEOUT: '1s', REQUEST_TIMEOUT: '1s' },
    routes: () => [
      route('GET /slow/:ms', {
        auth: 'none',
        async handle({ params }) {
          begun += 1
          await sleep(Number(params.ms))
          return { waited: params.ms }
        },
      }),
      route('GET /wanted', {
        auth: 'none',
        handle: ({ signal }) =>
          new Promise<never>((_, reject) => {
            begun += 1
            signal.addEventListener('abort', () => {
              aborted += 1
              reject(signal.reason)
            })
          }),
      }),
      route('POST /counted', {
        auth: 'none',
        body: v.unknown(),
        handle: () => ({ handled: ++handled }),
      }),
      route('POST /bodiless', { auth: 'none', handle: () => ({ handled: ++handled }) }),
    ],
  })
})
after(() => app.close())

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const statuses = (exchange: Awaited<ReturnType<typeof sendRaw>>) =>
  exchange.responses.map(({ status }) => status)

describe('pipelined requests', () => {
  test('get their responses in order, whatever the duration of each', async () => {
    const exchange = await sendRaw(app.port, get('/api/slow/150') + get('/api/slow/0') + get('/livez'), {
      responses: 3,
    })
    assert.deepEqual(
      exchange.responses.map(({ body }) => JSON.parse(body).waited),
      ['150', '0', undefined],
    )
  })

  test('before malformed bytes get their responses first, and the 400 comes last', async () => {
    const exchange = await sendRaw(app.port, `${get('/api/slow/150')}nonsense\r\n\r\n`)
    assert.deepEqual(statuses(exchange), [200, 400])
    assert.equal(exchange.closed, true)
  })

  test('behind an invalid request are never handled', async () => {
    const canary = 'POST /api/bodiless HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'
    const before = handled
    for (const bad of [
      'GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
      'GET /livez#x HTTP/1.1\r\nHost: a\r\n\r\n',
    ]) {
      const exchange = await sendRaw(app.port, bad + canary)
      assert.deepEqual(statuses(exchange), [400])
      assert.equal(exchange.closed, true)
    }
    assert.equal(handled, before)
  })

  test('behind Connection: close are never handled', async () => {
    const last = 'GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    const before = handled
    const exchange = await sendRaw(
      app.port,
      `${last}POST /api/bodiless HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`,
    )
    assert.deepEqual(statuses(exchange), [200])
    assert.equal(handled, before)
  })
})

describe('a body', () => {
  const counted = 'POST /api/counted HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'

  test('of exactly the limit is read, and of one byte more is refused, with and without a length', async () => {
    const json = (bytes: number) => `"${'a'.repeat(bytes - 2)}"`
    const chunked = (text: string) =>
      `${counted}Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
    const sized = (text: string) => `${counted}Content-Length: ${text.length}\r\n\r\n${text}`
    assert.deepEqual(statuses(await sendRaw(app.port, sized(json(1024)), { responses: 1 })), [200])
    assert.deepEqual(statuses(await sendRaw(app.port, chunked(json(1024)), { responses: 1 })), [200])
    assert.deepEqual(statuses(await sendRaw(app.port, sized(json(1025)))), [413])
    assert.deepEqual(statuses(await sendRaw(app.port, chunked(json(1025)))), [413])
  })

  // Public case 022
  test('far over the limit gets a readable 413 when the client sends it all before it reads', async () => {
    const size = 4 * 1024 * 1024
    const piece = Buffer.alloc(64 * 1024, 97)
    for (const framing of ['length', 'chunked']) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const request = httpRequest({
          port: app.port,
          path: '/api/counted',
          method: 'POST',
          agent,
          headers: {
            'Content-Type': 'application/json',
            ...(framing === 'length' ? { 'Content-Length': size } : {}),
          },
        })
        request.on('response', resolve)
        request.on('error', reject)
        for (let sent = 0; sent < size; sent += piece.length) request.write(piece)
        request.end()
      })
      assert.equal(response.statusCode, 413, framing)
      assert.equal(response.headers.connection, 'close')
      assert.equal(JSON.parse(await text(response)).reason, 'payload_too_large')
      const next = await new Promise<IncomingMessage>((resolve, reject) => {
        httpRequest({ port: app.port, path: '/livez', agent }, resolve).on('error', reject).end()
      })
      assert.equal(next.resume().statusCode, 200)
      agent.destroy()
    }
  })

  // Public case 022
  test('far over the limit breaks no write of a client that reads only after its last byte', async () => {
    const piece = 'a'.repeat(64 * 1024)
    for (const [framing, framed, last] of [
      [`Content-Length: ${64 * piece.length}`, piece, ''],
      ['Transfer-Encoding: chunked', `10000\r\n${piece}\r\n`, '0\r\n\r\n'],
    ] as const) {
      const socket = connect(app.port, '127.0.0.1')
      // A reset fails the next write, or the read at the end, which then rejects.
      socket.on('error', () => {})
      const write = (bytes: string) => new Promise<void>((resolve) => socket.write(bytes, () => resolve()))
      await write(`${counted}${framing}\r\n\r\n`)
      for (let i = 0; i < 64; i++) await write(framed)
      await write(last)
      assert.match(await text(socket), /^HTTP\/1\.1 413 [\s\S]*payload_too_large/, framing)
    }
  })

  test('is skipped on a route without a body, and the connection continues', async () => {
    for (const body of [
      'Content-Length: 4\r\n\r\nnull',
      'Content-Length: 3\r\nContent-Type: text/xml\r\n\r\n<a>',
      'Content-Length: 0\r\n\r\n',
      '\r\n',
      'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ]) {
      const exchange = await sendRaw(
        app.port,
        `POST /api/bodiless HTTP/1.1\r\nHost: a\r\n${body}${get('/livez')}`,
        { responses: 2 },
      )
      assert.deepEqual(statuses(exchange), [200, 200], body)
    }
  })

  test('over the limit is refused before the handler runs on a route without a body, too', async () => {
    const before = handled
    const chunk = `400\r\n${'a'.repeat(1024)}\r\n`
    for (const body of [
      `Content-Length: 1025\r\n\r\n${'a'.repeat(1025)}`,
      `Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`,
    ]) {
      const canary = 'POST /api/bodiless HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'
      const exchange = await sendRaw(app.port, `POST /api/bodiless HTTP/1.1\r\nHost: a\r\n${body}${canary}`)
      assert.deepEqual(statuses(exchange), [413], body.slice(0, 30))
      assert.equal(exchange.closed, true)
    }
    assert.equal(handled, before)
  })

  test('of many chunks in one packet is read whole', async () => {
    const chunks = [...'"abc"'].map((letter) => `1\r\n${letter}\r\n`).join('')
    const request = `${counted}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`
    const exchange = await sendRaw(app.port, request, { responses: 1 })
    assert.deepEqual(statuses(exchange), [200])
  })

  test('with a broken chunk is refused once', async () => {
    const exchange = await sendRaw(app.port, `${counted}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n`)
    assert.deepEqual(statuses(exchange), [400])
    assert.equal(exchange.closed, true)
  })

  // Public case 024
  test('gets 100 Continue only when the service reads it', async () => {
    const expecting = 'Expect: 100-continue\r\nContent-Length: 2\r\n\r\n'
    const wanted = await sendRaw(app.port, [`${counted}${expecting}`, 50, '{}'], { responses: 2 })
    assert.deepEqual(statuses(wanted), [100, 200])
    const refused = await sendRaw(app.port, `POST /api/me HTTP/1.1\r\nHost: a\r\n${expecting}`)
    assert.deepEqual(statuses(refused), [401])
    assert.equal(refused.closed, true)
  })

  // Public case 023
  test('that its client abandons is neither handled nor logged, also 200 times', async () => {
    const before = handled
    const lines = app.logLines.length
    for (let round = 0; round < 200; round++) {
      const socket = connect(app.port, '127.0.0.1')
      socket.on('error', () => {})
      await new Promise<void>((resolve) =>
        socket.write(`${counted}Content-Length: 100\r\n\r\n{"a":`, () => resolve()),
      )
      socket.destroy()
    }
    await sleep(100)
    assert.equal(handled, before)
    assert.deepEqual(app.logLines.slice(lines), [])
    assert.equal((await app.call('/livez', { method: 'GET' })).status, 200)
  })
})

describe('the media type', () => {
  const good = [
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json ; charset="utf-8"',
    'application/json\t;\tversion=1',
    'application/json;',
  ]
  const bad = [
    'application/jsonx',
    'application/json; charset=utf-16',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json, text/plain',
    'text/json',
    'application/problem+json',
    'application/json charset=utf-8',
    '',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf8',
  ]
  for (const [types, status] of [
    [good, 200],
    [bad, 415],
  ] as const) {
    for (const type of types) {
      test(`"${type}" gets status ${status}`, async () => {
        const bytes = `POST /api/counted HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: 2\r\n\r\n{}`
        assert.deepEqual(statuses(await sendRaw(app.port, bytes, { responses: 1 })), [status])
      })
    }
  }

  test('in two header lines is refused in any order', async () => {
    for (const [first, second] of [
      ['application/json', 'text/plain'],
      ['application/json', 'application/json'],
    ]) {
      const bytes = `POST /api/counted HTTP/1.1\r\nHost: a\r\nContent-Type: ${first}\r\nContent-Type: ${second}\r\nContent-Length: 2\r\n\r\n{}`
      assert.deepEqual(statuses(await sendRaw(app.port, bytes, { responses: 1 })), [415])
    }
  })
})

describe('an idle connection', () => {
  const requestTwice = async (server: RunningApp, idleMs: number) =>
    (await sendRaw(server.port, [get('/livez'), idleMs, get('/livez')], { responses: 2 })).responses

  // Public case 085
  test('stays open for longer than in a load balancer, and the Keep-Alive header has the timeout', async () => {
    const [response] = await requestTwice(app, 0)
    const { 'Keep-Alive': keepAlive } = Object.fromEntries(response?.headers ?? [])
    assert.equal(keepAlive, 'timeout=75')
  })

  // Public case 085
  test('stays open for the configured timeout, and is closed after it', async (t) => {
    const long = await startApp({ database: app.database, env: { KEEP_ALIVE_TIMEOUT: '10s' } })
    const short = await startApp({ database: app.database, env: { KEEP_ALIVE_TIMEOUT: '100ms' } })
    t.after(() => Promise.all([long.close(), short.close()]))
    const [onLong, onShort] = await Promise.all([requestTwice(long, 5000), requestTwice(short, 5000)])
    assert.deepEqual([onLong.length, onShort.length], [2, 1])
  })

  // Public case 085
  test('of 61 seconds stays open with the default settings', {
    skip: process.env.TEST_LONG ? false : 'it takes a minute: TEST_LONG=1 runs it',
  }, async () => {
    const responses = await requestTwice(app, 61_000)
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200],
    )
  })
})

describe('a connection that the client closes', () => {
  test('with a CONNECT behind a pending request does not affect the service', async () => {
    const socket = connect(app.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(`${get('/api/slow/300')}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`)
    await until(() => begun === 1)
    socket.resetAndDestroy()
    await sleep(300)
    assert.equal((await app.call('/livez', { method: 'GET' })).status, 200)
  })

  test('aborts the signal of each of its pending requests', async () => {
    const socket = connect(app.port, '127.0.0.1')
    socket.write(get('/api/wanted') + get('/api/wanted') + get('/api/wanted'))
    await until(() => begun === 3)
    assert.equal(aborted, 0)
    socket.destroy()
    await until(() => aborted === 3)
  })
})

test('a body that never arrives gets no second response after the response to its request', async () => {
  const { responses } = await sendRaw(
    app.port,
    `POST /api/bodiless HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n`,
  )
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200],
  )
})
