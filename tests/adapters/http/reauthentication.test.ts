import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, describe, mock, test } from 'node:test'
import * as v from 'valibot'
import { streamed } from '../../../src/adapters/http/response/streamed-list.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import type { Caller } from '../../../src/application/use-cases/authenticate.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import { type Deferred, deferred } from '../../support/fakes.ts'
import { takeResponse } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'

const BODY = '{"text":"late"}'
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
const SERVICE_SECRET = 'service-secret-of-the-tests-0123456789'

let app: TestApp
let port = 0
const handled: Pick<Caller, 'token'>[] = []
/** Requests of `GET /slow-list`, whose first item waits. */
const listed: Deferred<void>[] = []

before(async () => {
  app = await createTestApp({
    settings: { SERVICE_TOKENS: `tests=${SERVICE_SECRET}` },
    routes: () => [
      route('POST /upload', {
        auth: 'customer',
        abilities: ['files'],
        body: v.object({ text: v.string() }),
        handle({ token }) {
          handled.push({ token })
          return { expires_at: token.expiresAtMs }
        },
      }),
      route('POST /bodiless', {
        auth: 'customer',
        handle({ token }) {
          handled.push({ token })
          return {}
        },
      }),
      route('POST /report', {
        auth: 'service',
        body: v.object({ text: v.string() }),
        handle({ service }) {
          return { service }
        },
      }),
      route('GET /endless', {
        auth: 'customer',
        handle: () => streamed('items', endless()),
      }),
      route('GET /slow-list', {
        auth: 'customer',
        async handle() {
          const begun = deferred<void>()
          listed.push(begun)
          return streamed('items', slow(begun.promise))
        },
      }),
    ],
  })
  port = Number(new URL(app.url).port)
})
after(() => app.close())

async function* endless() {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve))
    yield 'x'.repeat(1024)
  }
}

async function* slow(first: Promise<void>) {
  await first
  yield 'secret'
}

const head = (path: string, secret: string, framing: string) =>
  `POST /api/${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`
const SIZED = `Content-Length: ${BODY.length}`

async function open(): Promise<{ socket: Socket; received(): string }> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (more) => {
    text += more
  })
  await once(socket, 'connect')
  return { socket, received: () => text }
}

/** Sends a request in two parts, calls `meanwhile` between them, and returns the response. */
async function sendLate(first: string, rest: string, meanwhile: () => unknown) {
  const { socket, received } = await open()
  const authenticated = mock.method(app.useCases, 'authenticate')
  socket.write(first)
  await until(() => authenticated.mock.callCount() > 0)
  authenticated.mock.restore()
  await meanwhile()
  socket.write(rest)
  await until(() => takeResponse(received(), false) !== null)
  socket.destroy()
  return takeResponse(received(), false)?.response
}

async function login(): Promise<{ secret: string; customerId: string }> {
  const { email, password, id } = await app.customer()
  const { status, body } = await app.call('/api/login', { body: { email, password } })
  assert.equal(status, 200)
  return { secret: body.token, customerId: id }
}

describe('a request whose body arrives late', () => {
  for (const [name, path, framing, rest] of [
    ['with a length', 'upload', SIZED, BODY],
    ['in chunks', 'upload', 'Transfer-Encoding: chunked', CHUNKED],
    ['that no handler reads', 'bodiless', 'Transfer-Encoding: chunked', CHUNKED],
  ] as const) {
    test(`${name} is refused with invalid_token when its token was revoked meanwhile`, async () => {
      const { secret } = await login()
      handled.splice(0)
      const response = await sendLate(head(path, secret, framing), rest, async () => {
        assert.equal((await app.call('/api/logout', { token: secret })).status, 200)
      })
      assert.equal(response?.status, 401)
      assert.equal(JSON.parse(response?.body ?? '').reason, 'invalid_token')
      assert.equal(handled.length, 0)
    })
  }

  test('is also refused when a part of its body arrived before the token was revoked', async () => {
    const { secret } = await login()
    const response = await sendLate(head('upload', secret, SIZED) + BODY.slice(0, -1), BODY.slice(-1), () =>
      app.call('/api/logout', { token: secret }),
    )
    assert.equal(response?.status, 401)
  })

  test('is refused when its token expired or its customer was disabled meanwhile', async () => {
    const customer = await app.customer()
    const expiresAtMs = app.clock.nowMs() + 60_000
    const { secret } = await app.as(customer, { abilities: ['*'], expiresAtMs })
    const expired = await sendLate(head('upload', secret, SIZED), BODY, () => app.clock.advance(60_000))
    assert.equal(expired?.status, 401)
    const other = await login()
    const disabled = await sendLate(head('upload', other.secret, SIZED), BODY, () =>
      app.useCases.customers.disable(other.customerId, app.useCases.deadline()),
    )
    assert.equal(disabled?.status, 401)
  })

  test('is served when its token, or its service token on a service route, is still valid', async () => {
    const { secret } = await login()
    assert.equal((await sendLate(head('upload', secret, SIZED), BODY, () => {}))?.status, 200)
    const { socket, received } = await open()
    const verified = mock.method(app.useCases, 'verifyServiceToken')
    socket.write(head('report', SERVICE_SECRET, SIZED))
    await until(() => verified.mock.callCount() === 1)
    socket.write(BODY)
    await until(() => takeResponse(received(), false) !== null)
    assert.equal(takeResponse(received(), false)?.response.status, 200)
    assert.equal(verified.mock.callCount(), 2)
    verified.mock.restore()
    socket.destroy()
  })
})

test('a request whose body arrives with its head is authenticated once', async () => {
  const { secret } = await login()
  for (const whole of [
    head('upload', secret, SIZED) + BODY,
    head('upload', secret, 'Transfer-Encoding: chunked') + CHUNKED,
    head('bodiless', secret, 'Transfer-Encoding: chunked') + CHUNKED,
    head('bodiless', secret, SIZED) + BODY,
  ]) {
    const { socket, received } = await open()
    const authenticated = mock.method(app.useCases, 'authenticate')
    socket.write(whole)
    await until(() => takeResponse(received(), false) !== null)
    assert.equal(takeResponse(received(), false)?.response.status, 200)
    assert.equal(authenticated.mock.callCount(), 1, whole)
    authenticated.mock.restore()
    socket.destroy()
  }
})

describe('a streamed list', () => {
  const get = (path: string, secret: string) =>
    `GET /api/${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n\r\n`

  test('ends when its token is revoked', async () => {
    const { secret } = await login()
    const { socket, received } = await open()
    let closed = false
    socket.on('close', () => {
      closed = true
    })
    socket.on('error', () => {})
    socket.write(get('endless', secret))
    await until(() => received().length > 100_000)
    assert.equal((await app.call('/api/logout', { token: secret })).status, 200)
    await until(() => closed)
  })

  test('is refused when its token was revoked before the first item was available', async () => {
    const { secret } = await login()
    const { socket, received } = await open()
    socket.write(get('slow-list', secret))
    await until(() => listed.length === 1)
    const beganMs = performance.now()
    assert.equal((await app.call('/api/logout', { token: secret })).status, 200)
    await until(() => performance.now() - beganMs > 200)
    listed[0]?.resolve()
    await until(() => takeResponse(received(), false) !== null)
    assert.equal(takeResponse(received(), false)?.response.status, 401)
    socket.destroy()
  })
})
