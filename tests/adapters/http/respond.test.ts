import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import * as v from 'valibot'
import { respond } from '../../../src/adapters/http/response/custom-response.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import { until } from '../../support/until.ts'

const ETAG = '"v7"'
const MEGABYTE = Buffer.alloc(1024 * 1024, 'x')

/** A source that counts what was read and notices its end. */
class Source extends Readable {
  readonly failAfter: number
  chunks = 0
  constructor(failAfter = Number.POSITIVE_INFINITY) {
    super({ highWaterMark: 1 })
    this.failAfter = failAfter
  }
  override _read(): void {
    if (this.chunks === this.failAfter) this.destroy(new Error('The disk is gone.'))
    else {
      this.chunks++
      this.push(MEGABYTE)
    }
  }
}

let app: TestApp
let source = new Source()
before(async () => {
  app = await createTestApp({
    routes: () => [
      route('GET /page', {
        auth: 'none',
        handle: () => respond({ body: '<h1>Grüße</h1>', type: 'text/html; charset=utf-8' }),
      }),
      route('GET /bytes', { auth: 'none', handle: () => respond({ body: new Uint8Array([0, 255, 128]) }) }),
      route('GET /text', { auth: 'none', handle: () => respond({ body: 'a,b\n' }) }),
      route('POST /created', {
        auth: 'none',
        returns: v.object({ id: v.string() }),
        handle: () => respond({ status: 201, headers: { Location: '/api/things/7' }, body: { id: '7' } }),
      }),
      route('GET /moved', {
        auth: 'none',
        handle: () => respond({ status: 302, headers: { location: 'https://example.com/' } }),
      }),
      route('GET /cached', {
        auth: 'none',
        handle: () =>
          respond({ headers: { ETag: ETAG, 'Cache-Control': 'private, max-age=60' }, body: 'long text' }),
      }),
      route('GET /cookies', {
        auth: 'none',
        handle: () => respond({ status: 204, headers: { 'Set-Cookie': ['a=1; Path=/', 'b=2; Path=/'] } }),
      }),
      route('GET /download', { auth: 'none', handle: () => respond({ body: source, type: 'video/mp4' }) }),
      route('GET /private', { auth: 'customer', handle: () => respond({ body: source }) }),
      route('GET /small', {
        auth: 'none',
        handle: () => respond({ body: Readable.from([Buffer.from('ab'), Buffer.from('c')]) }),
      }),
      route('GET /sized/:length', {
        auth: 'none',
        handle: ({ params }) =>
          respond({
            headers: { 'Content-Length': params.length },
            body: Readable.from([Buffer.from('abc')]),
          }),
      }),
      route('GET /wrong/:case', {
        auth: 'none',
        handle({ params }) {
          if (params.case === 'status') return respond({ status: 404, body: source })
          if (params.case === 'body') return respond({ status: 304, body: 'x' })
          if (params.case === 'line') return respond({ headers: { Location: '/a\r\nSet-Cookie: b=1' } })
          if (params.case === 'type') return respond({ body: 'x', type: 'text/plain\r\nX-A: b' })
          return respond({ headers: { [params.case]: 'x' } })
        },
      }),
      route('GET /declared', {
        auth: 'none',
        responses: { 200: { type: 'text/csv', headers: ['ETag'] }, 302: { headers: ['Location'] } },
        handle: () => respond({ status: 303 as 302, headers: { Location: '/' }, body: source }),
      }),
    ],
  })
})
after(() => app.close())

const get = (path: string, headers = {}) => app.call(path, { method: 'GET', headers })

describe('A handler responds', () => {
  test('with text, bytes and their media types, and the headers of every response', async () => {
    const page = await get('/api/page')
    assert.deepEqual([page.status, page.body], [200, '<h1>Grüße</h1>'])
    assert.deepEqual(
      ['content-type', 'content-length', 'cache-control', 'x-content-type-options'].map((name) =>
        page.headers.get(name),
      ),
      ['text/html; charset=utf-8', '16', 'no-store', 'nosniff'],
    )
    assert.match(page.headers.get('x-request-id') ?? '', /^[\w-]+$/)
    const bytes = await fetch(`${app.url}/api/bytes`)
    assert.equal(bytes.headers.get('content-type'), 'application/octet-stream')
    assert.deepEqual(new Uint8Array(await bytes.arrayBuffer()), new Uint8Array([0, 255, 128]))
    assert.equal((await get('/api/text')).headers.get('content-type'), 'text/plain; charset=utf-8')
  })

  test('with fields in the envelope beside an own status and Location', async () => {
    const { status, headers, body } = await app.call('/api/created')
    assert.deepEqual(
      [status, headers.get('location'), body],
      [201, '/api/things/7', { success: true, id: '7' }],
    )
  })

  test('with a redirect, and with several cookies', async () => {
    const moved = await fetch(`${app.url}/api/moved`, { redirect: 'manual' })
    assert.deepEqual([moved.status, moved.headers.get('location')], [302, 'https://example.com/'])
    assert.equal(await moved.text(), '')
    const { status, headers } = await get('/api/cookies')
    assert.deepEqual([status, headers.getSetCookie()], [204, ['a=1; Path=/', 'b=2; Path=/']])
    assert.equal(headers.get('content-type'), null)
  })

  test('with 304 to a client that has the ETag', async () => {
    for (const tag of [ETAG, `W/${ETAG}`, `"other", ${ETAG}`, '*']) {
      const { status, headers, body } = await get('/api/cached', { 'If-None-Match': tag })
      assert.deepEqual([status, body, headers.get('etag')], [304, null, ETAG])
      assert.equal(headers.get('cache-control'), 'private, max-age=60')
      assert.equal(headers.get('content-type'), null)
    }
    assert.equal((await get('/api/cached', { 'If-None-Match': '"v8"' })).body, 'long text')
  })

  test('to HEAD without a body', async () => {
    const { status, headers, body } = await app.call('/api/page', { method: 'HEAD' })
    assert.deepEqual([status, headers.get('content-length'), body], [200, '16', null])
    source = new Source()
    assert.equal(
      (await app.call('/api/download', { method: 'HEAD' })).headers.get('content-type'),
      'video/mp4',
    )
    await until(() => source.destroyed)
    assert.ok(source.chunks <= 1)
  })

  test('with a stream, whose length may be declared', async () => {
    assert.equal((await get('/api/small')).body, 'abc')
    const { headers, body } = await get('/api/sized/3')
    assert.deepEqual([headers.get('content-length'), body], ['3', 'abc'])
    for (const length of [2, 4]) await assert.rejects(get(`/api/sized/${length}`))
  })
})

describe('A streamed response', () => {
  test('waits for a slow client, and stops when the client leaves', async () => {
    source = new Source()
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
    socket.write('GET /api/download HTTP/1.1\r\nHost: a\r\n\r\n')
    socket.pause()
    // A client that reads nothing gets what the buffers of the sockets hold.
    let seen = -1
    await until(async () => {
      const before = seen
      seen = source.chunks
      await new Promise((resolve) => setTimeout(resolve, 100))
      return seen > 0 && seen === before
    })
    assert.ok(source.chunks < 200, `${source.chunks} MB were read`)
    assert.equal(source.destroyed, false)
    socket.destroy()
    await until(() => source.destroyed)
  })

  test('that fails before its first bytes gets the envelope', async () => {
    source = new Source(0)
    const { status, body } = await get('/api/download')
    assert.deepEqual([status, body.reason], [500, 'internal'])
    assert.equal((app.errors.at(-1) as Error).message, 'The disk is gone.')
  })

  test('that fails after its first bytes closes the connection', async () => {
    source = new Source(3)
    await assert.rejects(get('/api/download'))
    await until(() => app.logged.filter(({ message }) => message === 'The disk is gone.').length === 2)
  })

  test('ends when its token is revoked', async () => {
    source = new Source()
    const customer = await app.customer()
    const caller = await app.as(customer, { abilities: [] })
    const sent = request(`${app.url}/api/private`, { headers: { Authorization: `Bearer ${caller.secret}` } })
    const closed = new Promise((resolve) => {
      sent.on('response', (response) => response.on('error', resolve).resume()).on('error', resolve)
    })
    sent.end()
    await until(() => source.chunks > 2)
    await app.useCases.customers.disable(customer.id, app.useCases.deadline())
    await closed
    await until(() => source.destroyed)
  })
})

describe('A mistake in respond is a 500 with a sentence in the log', () => {
  for (const [mistake, message] of [
    ['status', /^respond takes a status from 200 to 399, not 404: throw an error to refuse\.$/],
    ['body', /^A response of status 304 has no body\.$/],
    ['X-Request-ID', /^The service sets the header X-Request-ID itself: remove it from headers\.$/],
    ['content-length', /^The service sets the header content-length itself/],
    ['Transfer-Encoding', /^The service sets/],
    ['Access-Control-Allow-Origin', /^The service sets/],
    ['line', /Invalid character in header content/],
    ['type', /Invalid character in header content/],
  ] as const)
    test(mistake, async () => {
      source = new Source()
      const { status, headers, body } = await get(`/api/wrong/${mistake}`)
      assert.deepEqual([status, body.reason, headers.get('set-cookie')], [500, 'internal', null])
      assert.match((app.errors.at(-1) as Error).message, message)
      if (mistake === 'status') assert.ok(source.destroyed)
    })

  test('a status that responses of the route does not have', async () => {
    source = new Source()
    assert.equal((await get('/api/declared')).status, 500)
    assert.ok(source.destroyed)
    assert.match(
      (app.errors.at(-1) as Error).message,
      /has the status 303, which the route does not declare in responses/,
    )
  })
})

test('a status or fields that the route does not declare do not compile', () => {
  const returns = v.object({ id: v.string() })
  // @ts-expect-error the status is not in responses
  route('GET /a', { auth: 'none', responses: { 302: {} }, handle: () => respond({ status: 303 }) })
  // @ts-expect-error a field has another type
  route('GET /a', { auth: 'none', returns, handle: () => respond({ body: { id: 7 } }) })
  route('GET /a', { auth: 'none', returns, handle: () => respond({ body: { id: '7' } }) })
})
