import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { MethodNotAllowed, NotFound } from '../../../src/adapters/http/errors.ts'
import { streamed } from '../../../src/adapters/http/response/streamed-list.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { ClientGone } from '../../../src/adapters/http/server/client-gone.ts'
import {
  InsufficientScope,
  LatchkeyError,
  Unavailable,
  ValidationFailed,
} from '../../../src/domain/errors.ts'
import { deferred } from '../../support/fakes.ts'
import { type RunningApp, SERVICE_SECRET, startApp } from '../../support/running-app.ts'
import { until } from '../../support/until.ts'

const LINE = { sku: 'A-1', secret: 'not for you' }
const returns = v.object({ lines: v.array(v.object({ sku: v.string() })), total: v.optional(v.number()) })
interface Tree {
  tree?: Tree | undefined
}
const TREE: v.GenericSchema<Tree> = v.looseObject({ tree: v.optional(v.lazy(() => TREE)) })
const CHUNKED_JSON = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }
const JSON_OF_2_BYTES = { 'Content-Type': 'application/json', 'Content-Length': '2' }
const seen: string[] = []
let produced = 0
let closed = deferred<string>()
const waits = deferred<void>()

async function* lines(count: number, failsAt = Infinity) {
  try {
    for (produced = 0; produced < count; produced++) {
      if (produced === failsAt) throw new Error('The store broke.')
      if (produced % 1000 === 0) await sleep(1)
      yield LINE
    }
  } finally {
    closed.resolve('closed')
  }
}

/** Waits until the request is cancelled. */
function untilCancelled(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      seen.push((signal.reason as Error).name)
      reject(signal.reason)
    })
  })
}

async function* slowly() {
  for (let item = 0; item < 100; item++) {
    await sleep(20)
    yield LINE
  }
}

/** Fields of a handler that are named like those of the service. */
const FORGED = {
  level: 'fatal',
  time: 0,
  event: 'login.succeeded',
  audit: true,
  request_id: 'forged',
  trace_id: 'forged',
  route: null,
  level_: 'own',
}

/** Yields one item, then waits forever. */
async function* stuck() {
  yield LINE
  await new Promise(() => {})
}

/** Yields an item, and the others when `more` resolves. */
let more = deferred<void>()
async function* interrupted() {
  yield LINE
  await more.promise
  yield LINE
}

/** Yields items that each keep the processor busy, and counts how often other work ran meanwhile. */
let turns = 0
function* busily() {
  turns = 0
  let isDone = false
  const count = () => void (isDone || (++turns && setImmediate(count)))
  setImmediate(count)
  try {
    for (let item = 0; item < 100; item++) {
      for (const endMs = performance.now() + 2; performance.now() < endMs; );
      yield LINE
    }
  } finally {
    isDone = true
  }
}
async function* busilyAsync() {
  yield* busily()
}

/** A thenable of a library, whose work begins on the first `then`. */
const inserted = { begun: 0 }
const query = {
  // biome-ignore lint/suspicious/noThenProperty: what such libraries return
  then(resolve: (result: object) => void) {
    inserted.begun++
    setTimeout(resolve, 1, { id: 7 })
  },
} as Promise<{ id: number }>

/** An error whose reason is not in the status table. */
class OutOfStock extends LatchkeyError {
  readonly reason = 'out_of_stock'
}

describe("A handler's response", () => {
  let app: RunningApp
  before(async () => {
    app = await startApp({
      routes: () => [
        route('GET /declared', {
          auth: 'none',
          returns,
          handle: () => ({ lines: [LINE], total: 1, owner: 'undeclared' }) as never,
        }),
        route('GET /unfit', { auth: 'none', returns, handle: () => ({ lines: [{ sku: 1 }] }) as never }),
        route('GET /list', {
          auth: 'none',
          returns,
          query: v.object({ count: v.pipe(v.string(), v.transform(Number)), fails: v.optional(v.string()) }),
          handle: ({ query }) =>
            streamed('lines', lines(query.count, query.fails ? Number(query.fails) : undefined), {
              total: query.count,
              secret: 'not for you',
            }),
        }),
        route('GET /list/slow', {
          auth: 'none',
          deadlineMs: 200,
          handle: () => streamed('lines', slowly()),
        }),
        route('GET /list/stuck', { auth: 'none', deadlineMs: 200, handle: () => streamed('lines', stuck()) }),
        route('GET /list/interrupted', { auth: 'none', handle: () => streamed('lines', interrupted()) }),
        route('GET /list/short', { auth: 'none', deadlineMs: 20, handle: () => streamed('lines', stuck()) }),
        route('GET /list/busy', { auth: 'none', handle: () => streamed('lines', busily()) }),
        route('GET /list/busy-async', { auth: 'none', handle: () => streamed('lines', busilyAsync()) }),
        route('GET /list/described', {
          auth: 'none',
          returns: v.pipe(returns, v.description('Lines.')),
          handle: () => streamed('lines', lines(2), { total: 2 }),
        }),
        route('GET /list/optional', {
          auth: 'none',
          returns: v.object({ lines: v.optional(v.pipe(returns.entries.lines, v.readonly())) }),
          handle: () => streamed('lines', lines(1)),
        }),
        route('GET /list/checked', {
          auth: 'none',
          returns: v.object({ lines: v.pipe(returns.entries.lines, v.maxLength(1)) }),
          handle: () => streamed('lines', lines(2)),
        }),
        route('POST /trees', {
          auth: 'none',
          body: TREE,
          bodyLimitBytes: 100_000,
          handle: ({ body }) => ({ tree: body }),
        }),
        route('POST /slow-body', {
          auth: 'none',
          deadlineMs: 100,
          body: v.unknown(),
          handle() {
            seen.push('handled')
            return {}
          },
        }),
        route('GET /napping', {
          auth: 'none',
          deadlineMs: 50,
          handle: async ({ signal }) => {
            await sleep(60_000, null, { signal })
            return {}
          },
        }),
        route('GET /query', { auth: 'none', handle: ({ query }) => ({ query }) }),
        route('POST /lines', { auth: 'none', status: 201, handle: () => query }),
        route('GET /claims', { auth: 'none', handle: () => ({ success: false, a: 1 }) }),
        route('GET /followed', {
          auth: 'none',
          handle({ signal }) {
            signal.addEventListener('abort', () => seen.push('aborted'))
            return {}
          },
        }),
        route('GET /scopes/:name', {
          auth: 'none',
          handle({ params }) {
            throw new InsufficientScope([`project:${params.name}`, 'orders:read'])
          },
        }),
        route('GET /unsendable', {
          auth: 'none',
          handle() {
            throw new MethodNotAllowed('GET\r\nSet-Cookie: a=b')
          },
        }),
        route('GET /no-list', { auth: 'none', returns, handle: () => streamed('total', [1]) as never }),
        route('GET /late', { auth: 'none', deadlineMs: 50, handle: ({ signal }) => untilCancelled(signal) }),
        route('GET /waiting', {
          auth: 'none',
          handle({ signal }) {
            waits.resolve()
            return untilCancelled(signal)
          },
        }),
        route('GET /refusals/:name', {
          auth: 'none',
          handle({ params, log }) {
            log.info('refusals.asked', { name: params.name, times: 1 })
            if (params.name === 'forged') log.warn('refusals.forged', FORGED)
            if (params.name === 'shared') throw new ClientGone()
            if (params.name === 'unknown') throw new OutOfStock('None is left.')
            if (params.name === 'absent') throw new NotFound('There is no such order.')
            if (params.name === 'wrong') throw new ValidationFailed({ sku: ['Is not sold here.'] })
            throw new Unavailable()
          },
        }),
      ],
    })
  })
  after(() => app.close())

  it('is sent without the fields that its route does not declare', async () => {
    const { body } = await app.call('/api/declared', { method: 'GET' })
    assert.deepEqual(body, { success: true, lines: [{ sku: 'A-1' }], total: 1 })
  })

  it('is replaced by 500 without details when it does not fit the response schema', async () => {
    const { status, body } = await app.call('/api/unfit', { method: 'GET' })
    assert.deepEqual([status, body.reason], [500, 'internal'])
    assert.equal((await app.call('/api/no-list', { method: 'GET' })).status, 500)
  })

  it('can be a list of any length, streamed while it is read, without undeclared fields', async () => {
    for (const count of [0, 1, 50_000]) {
      const { status, headers, body } = await app.call(`/api/list?count=${count}`, { method: 'GET' })
      assert.equal(status, 200)
      assert.equal(headers.get('content-length'), null)
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.deepEqual([body.success, body.total, body.secret], [true, count, undefined])
      assert.equal(body.lines.length, count)
      assert.deepEqual(body.lines[0], count === 0 ? undefined : { sku: 'A-1' })
    }
  })

  it('has no body for HEAD, and closes the iterator of a list', async () => {
    closed = deferred()
    const { status } = await app.call('/api/list?count=1000000', { method: 'HEAD' })
    assert.equal(status, 200)
    assert.equal(await closed.promise, 'closed')
    assert.ok(produced < 10)
  })

  it('is a failure like any other when a list fails before its first item', async () => {
    const { status, body } = await app.call('/api/list?count=5&fails=0', { method: 'GET' })
    assert.deepEqual([status, body.reason], [500, 'internal'])
  })

  it('is a failure like any other as long as nothing of a list has been sent', async () => {
    const failed = await app.call('/api/list?count=5&fails=3', { method: 'GET' })
    assert.deepEqual([failed.status, failed.body.reason], [500, 'internal'])
    const late = await app.call('/api/list/short', { method: 'GET' })
    assert.deepEqual([late.status, late.body.reason], [503, 'unavailable'])
  })

  it('is logged and counted as broken off, not as 200, when a list fails later', async () => {
    const linesBefore = app.logLines.length
    await assert.rejects(app.call('/api/list?count=50000&fails=40000', { method: 'GET' }))
    const find = () =>
      app.logLines.slice(linesBefore).find((line) => line.includes('The response was broken off.'))
    await until(() => find() !== undefined)
    assert.match(find() ?? '', /"route":"\/api\/list".*"message":"The store broke\."/)
    const { body: text } = await app.call('/metrics', { method: 'GET', token: SERVICE_SECRET })
    assert.match(
      text,
      /^http_server_request_duration_seconds_count\{[^}]*http_route="\/api\/list",http_response_status_code=""\} \d+$/m,
    )
  })

  it('begins with the items that a slow list has, and continues with the others', async () => {
    more = deferred()
    const asking = request({ port: app.port, path: '/api/list/interrupted' }).end()
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    response.setEncoding('utf8')
    let text = ''
    response.on('data', (part) => {
      text += part
    })
    await until(() => text.includes('A-1'))
    assert.equal(text, `{"success":true,"lines":[${JSON.stringify(LINE)}`)
    more.resolve()
    await once(response, 'end')
    assert.deepEqual(JSON.parse(text).lines, [LINE, LINE])
  })

  for (const kind of ['busy', 'busy-async'])
    it(`lets other work run while a list never waits: ${kind}`, async () => {
      const { body } = await app.call(`/api/list/${kind}`, { method: 'GET' })
      assert.equal(body.lines.length, 100)
      assert.ok(turns > 5, `${turns} turns of the event loop`)
    })

  it('is aborted when a list fails later, so that a partial list does not look complete', async () => {
    await assert.rejects(app.call('/api/list?count=50000&fails=40000', { method: 'GET' }))
    assert.equal((await app.call('/api/list?count=1', { method: 'GET' })).status, 200)
  })

  it('waits for a client that reads slowly, and stops when the client disconnects', async () => {
    closed = deferred()
    const { port } = app
    const asking = request({ port, path: '/api/list?count=100000000' }).end()
    const [response] = (await once(asking, 'response')) as [NodeJS.ReadableStream & { destroy(): void }]
    // The kernel buffers some megabytes before the server has to wait.
    for (let before = -1; before !== produced; ) {
      before = produced
      await sleep(300)
    }
    assert.ok(produced < 10_000_000, 'the client does not read, but the whole list was produced')
    response.destroy()
    assert.equal(await closed.promise, 'closed')
  })

  it('is 503 after the deadline of its route, and the signal aborts', async () => {
    seen.length = 0
    const { status, headers } = await app.call('/api/late', { method: 'GET' })
    assert.deepEqual([status, headers.get('retry-after')], [503, '1'])
    assert.deepEqual(seen, ['Unavailable'])
  })

  it('is cancelled when the client disconnects: the signal aborts, and nothing is logged', async () => {
    seen.length = 0
    const linesBefore = app.logLines.length
    const asking = request({ port: app.port, path: '/api/waiting' }).end()
    asking.on('error', () => {})
    await waits.promise
    asking.destroy()
    await until(() => seen.length > 0)
    assert.deepEqual(seen, ['ClientGone'])
    assert.deepEqual(app.logLines.slice(linesBefore), [])
  })

  it('does not abort the signal after it is sent', async () => {
    seen.length = 0
    for (let round = 0; round < 3; round++) await app.call('/api/followed', { method: 'GET' })
    assert.deepEqual(seen, [])
  })

  it('is aborted after the deadline of its route when a list is still being read', async () => {
    await assert.rejects(app.call('/api/list/slow', { method: 'GET' }))
  })

  it('is aborted after the deadline of its route when a list is stuck', async () => {
    await assert.rejects(app.call('/api/list/stuck', { method: 'GET' }))
  })

  it('is streamed by its response schema, but is 500 when a check would need the whole list', async () => {
    const { body } = await app.call('/api/list/described', { method: 'GET' })
    assert.deepEqual(body, { success: true, lines: [{ sku: 'A-1' }, { sku: 'A-1' }], total: 2 })
    const optional = await app.call('/api/list/optional', { method: 'GET' })
    assert.deepEqual(optional.body, { success: true, lines: [{ sku: 'A-1' }] })
    assert.equal((await app.call('/api/list/checked', { method: 'GET' })).status, 500)
  })

  it('is 422 when the request body is nested too deeply', async () => {
    const nested = (levels: number) => `${'{"tree":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`
    const { status, body } = await app.call('/api/trees', { body: nested(100) })
    assert.deepEqual([status, JSON.stringify(body.tree)], [200, nested(100)])
    for (const levels of [101, 2000, 10_000]) {
      const { status, body } = await app.call('/api/trees', { body: nested(levels) })
      assert.deepEqual([status, Object.keys(body.errors)], [422, ['body']], `${levels}`)
    }
    const wide = { tree: {}, more: Array.from({ length: 5000 }, () => [[1]]) }
    assert.equal((await app.call('/api/trees', { body: wide })).status, 200)
  })

  it('is a readable 503 when the deadline passes while a chunked body is being sent', async () => {
    const asking = request({ port: app.port, path: '/api/slow-body', method: 'POST', headers: CHUNKED_JSON })
    asking.on('error', () => {}).write('{')
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    assert.deepEqual([response.statusCode, response.headers['retry-after']], [503, '1'])
    asking.end('}')
    response.resume()
    await once(response, 'end')
  })

  it('is a readable 413 for a client that still sends after the deadline', async () => {
    const asking = request({ port: app.port, path: '/api/slow-body', method: 'POST', headers: CHUNKED_JSON })
    asking.on('error', () => {}).write(`"${'x'.repeat(70_000)}`)
    const responded = once(asking, 'response') as Promise<[IncomingMessage]>
    await sleep(300)
    const [response] = await responded
    assert.equal(response.statusCode, 413)
    let text = ''
    for await (const piece of response) text += piece
    assert.equal(JSON.parse(text).reason, 'payload_too_large')
    asking.end()
  })

  it('is 503 without a call of the handler when the body arrives after the deadline', async () => {
    seen.length = 0
    const asking = request({
      port: app.port,
      path: '/api/slow-body',
      method: 'POST',
      headers: JSON_OF_2_BYTES,
    })
    asking.on('error', () => {}).write('{')
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 503)
    response.resume()
    asking.end('}')
    assert.equal((await app.call('/api/query', { method: 'GET' })).status, 200)
    await sleep(100)
    assert.deepEqual(seen, [])
  })

  it('is logged once when a function of node rejects because of the deadline', async () => {
    const linesBefore = app.logLines.length
    assert.equal((await app.call('/api/napping', { method: 'GET' })).status, 503)
    await sleep(20)
    const events = app.logLines.slice(linesBefore).map((text) => JSON.parse(text))
    assert.deepEqual(
      events.map(({ level, event }) => [level, event]),
      [['warn', 'request.failed']],
    )
  })

  it('gets a query without a schema as text, with the last of repeated parameters', async () => {
    const { body } = await app.call('/api/query?a=1&b=&a=%E2%82%AC', { method: 'GET' })
    assert.deepEqual(body.query, { a: '€', b: '' })
  })

  it('may be a thenable of a library', async () => {
    const { status, body } = await app.call('/api/lines')
    assert.deepEqual([status, body], [201, { success: true, id: 7 }])
    assert.equal(inserted.begun, 1)
  })

  it('has success: true even when its own field success is false', async () => {
    assert.deepEqual((await app.call('/api/claims', { method: 'GET' })).body, { success: true, a: 1 })
  })

  it('omits invalid abilities, which may come from the client, from its headers', async () => {
    for (const name of ['%E2%82%AC', '%0D%0Aa', 'a%22,%20error=%22x'])
      assert.equal(
        (await app.call(`/api/scopes/${name}`, { method: 'GET' })).headers.get('www-authenticate'),
        'Bearer realm="api", error="insufficient_scope", scope="orders:read"',
      )
  })

  it('is 500 when node refuses its headers, and the service continues', async () => {
    const linesBefore = app.logLines.length
    const { status, body, headers } = await app.call('/api/unsendable', { method: 'GET' })
    assert.deepEqual([status, body.reason, headers.get('set-cookie')], [500, 'internal', null])
    assert.match(app.logLines.slice(linesBefore).join(''), /"event":"request.failed"/)
  })

  it('may be a failure of the status table with a custom message', async () => {
    const absent = await app.call('/api/refusals/absent', { method: 'GET' })
    assert.deepEqual([absent.status, absent.body.error], [404, 'There is no such order.'])
    const wrong = await app.call('/api/refusals/wrong', { method: 'GET' })
    assert.deepEqual([wrong.status, wrong.body.errors], [422, { sku: ['Is not sold here.'] }])
    const unknown = await app.call('/api/refusals/unknown', { method: 'GET' })
    assert.deepEqual([unknown.status, unknown.body.reason], [500, 'internal'])
    const shared = await app.call('/api/refusals/shared', { method: 'GET' })
    assert.equal(shared.status, 500, 'the disconnect of another client does not cancel this request')
    const unavailable = await app.call('/api/refusals/other', { method: 'GET' })
    assert.deepEqual([unavailable.status, unavailable.headers.get('retry-after')], [503, '1'])
  })

  it('has a log that adds the id and the route of the request', async () => {
    const linesBefore = app.logLines.length
    await app.call('/api/refusals/absent', { method: 'GET', headers: { 'X-Request-Id': 'mine' } })
    const line = app.logLines.slice(linesBefore).map((text) => JSON.parse(text))[0]
    assert.deepEqual(
      [line.event, line.name, line.times, line.request_id, line.route],
      ['refusals.asked', 'absent', 1, 'mine', '/api/refusals/:name'],
    )
  })

  it('has a log in which no field of a handler replaces one of the service', async () => {
    const linesBefore = app.logLines.length
    await app.call('/api/refusals/forged', { method: 'GET', headers: { 'X-Request-Id': 'mine' } })
    const text = app.logLines.slice(linesBefore).find((line) => line.includes('refusals.forged')) ?? ''
    for (const name of ['level', 'time', 'event', 'request_id', 'route'])
      assert.equal(text.split(`"${name}":`).length, 2, name)
    const { time, ...line } = JSON.parse(text)
    assert.match(time, /^\d{4}-/)
    assert.deepEqual(line, {
      level: 'warn',
      time_: 0,
      event_: 'login.succeeded',
      audit_: true,
      request_id_: 'forged',
      trace_id_: 'forged',
      route_: null,
      level_: 'own',
      request_id: 'mine',
      route: '/api/refusals/:name',
      event: 'refusals.forged',
    })
  })
})
