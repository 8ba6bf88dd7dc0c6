import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { route } from '../../../src/adapters/http/route.ts'
import { sendRaw } from '../../support/raw-http.ts'
import { type RunningApp, startApp } from '../../support/running-app.ts'

let app: RunningApp
let handled = 0
before(async () => {
  app = await startApp({
    env: { BODY_LIMIT: '1024' },
    routes: () => [
      route('GET /slow/:ms', {
        auth: 'none',
        async handle({ params }) {
          await sleep(Number(params.ms))
          return { waited: params.ms }
        },
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
  exchange.answers.map(({ status }) => status)

describe('pipelined requests', () => {
  test('are answered in their order, however long each takes', async () => {
    const exchange = await sendRaw(app.port, get('/api/slow/150') + get('/api/slow/0') + get('/livez'), {
      answers: 3,
    })
    assert.deepEqual(
      exchange.answers.map(({ body }) => JSON.parse(body).waited),
      ['150', '0', undefined],
    )
  })

  test('before bytes that are no request are answered first, and the refusal last', async () => {
    const exchange = await sendRaw(app.port, `${get('/api/slow/150')}nonsense\r\n\r\n`)
    assert.deepEqual(statuses(exchange), [200, 400])
    assert.equal(exchange.closed, true)
  })

  test('behind one that the gate refuses are never looked at', async () => {
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

  test('behind Connection: close are never looked at', async () => {
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

  test('of exactly the limit is read, of one byte more is refused, with and without a length', async () => {
    const json = (bytes: number) => `"${'a'.repeat(bytes - 2)}"`
    const chunked = (text: string) =>
      `${counted}Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
    const sized = (text: string) => `${counted}Content-Length: ${text.length}\r\n\r\n${text}`
    assert.deepEqual(statuses(await sendRaw(app.port, sized(json(1024)), { answers: 1 })), [200])
    assert.deepEqual(statuses(await sendRaw(app.port, chunked(json(1024)), { answers: 1 })), [200])
    assert.deepEqual(statuses(await sendRaw(app.port, sized(json(1025)))), [413])
    assert.deepEqual(statuses(await sendRaw(app.port, chunked(json(1025)))), [413])
  })

  test('far over the limit is answered readably to a client that sends it all before it reads', async () => {
    const size = 4 * 1024 * 1024
    const piece = Buffer.alloc(64 * 1024, 97)
    for (const framing of ['length', 'chunked']) {
      const answer = await new Promise<number>((resolve, reject) => {
        const request = httpRequest({
          port: app.port,
          path: '/api/counted',
          method: 'POST',
          agent: new Agent({ keepAlive: true }),
          headers: {
            'Content-Type': 'application/json',
            ...(framing === 'length' ? { 'Content-Length': size } : {}),
          },
        })
        request.on('response', (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
        request.on('error', reject)
        for (let sent = 0; sent < size; sent += piece.length) request.write(piece)
        request.end()
      })
      assert.equal(answer, 413, framing)
    }
  })

  test('is read past where none is needed, and the connection goes on', async () => {
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
        { answers: 2 },
      )
      assert.deepEqual(statuses(exchange), [200, 200], body)
    }
  })

  test('over the limit is refused where none is needed, too, before anything is done', async () => {
    const before = handled
    const chunk = `400\r\n${'a'.repeat(1024)}\r\n`
    for (const body of [
      `Content-Length: 1025\r\n\r\n${'a'.repeat(1025)}`,
      `Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`,
    ]) {
      const exchange = await sendRaw(app.port, `POST /api/bodiless HTTP/1.1\r\nHost: a\r\n${body}`)
      assert.deepEqual(statuses(exchange), [413], body.slice(0, 30))
      assert.equal(exchange.closed, true)
    }
    assert.equal(handled, before)
  })

  test('with a broken chunk is refused once', async () => {
    const exchange = await sendRaw(app.port, `${counted}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n`)
    assert.deepEqual(statuses(exchange), [400])
    assert.equal(exchange.closed, true)
  })

  test('is asked for with 100 Continue only when it is wanted', async () => {
    const expecting = 'Expect: 100-continue\r\nContent-Length: 2\r\n\r\n'
    const wanted = await sendRaw(app.port, [`${counted}${expecting}`, 50, '{}'], { answers: 2 })
    assert.deepEqual(statuses(wanted), [100, 200])
    const refused = await sendRaw(app.port, `POST /api/me HTTP/1.1\r\nHost: a\r\n${expecting}`)
    assert.deepEqual(statuses(refused), [401])
    assert.equal(refused.closed, true)
  })

  test('that its client abandons leaves nothing behind: 200 of them, no line logged, nothing handled', async () => {
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
      test(`"${type}" is answered ${status}`, async () => {
        const bytes = `POST /api/counted HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: 2\r\n\r\n{}`
        assert.deepEqual(statuses(await sendRaw(app.port, bytes, { answers: 1 })), [status])
      })
    }
  }

  test('in two lines is refused, whichever is first', async () => {
    for (const [first, second] of [
      ['application/json', 'text/plain'],
      ['application/json', 'application/json'],
    ]) {
      const bytes = `POST /api/counted HTTP/1.1\r\nHost: a\r\nContent-Type: ${first}\r\nContent-Type: ${second}\r\nContent-Length: 2\r\n\r\n{}`
      assert.deepEqual(statuses(await sendRaw(app.port, bytes, { answers: 1 })), [415])
    }
  })
})
