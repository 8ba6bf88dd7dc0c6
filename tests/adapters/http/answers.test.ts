import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { MethodNotAllowed, NotFound } from '../../../src/adapters/http/errors.ts'
import { streamed } from '../../../src/adapters/http/response/streamed-list.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { ClientGone } from '../../../src/adapters/http/server/exchange.ts'
import {
  InsufficientScope,
  LatchkeyError,
  Unavailable,
  ValidationFailed,
} from '../../../src/domain/errors.ts'
import { deferred } from '../../support/fakes.ts'
import { type RunningApp, startApp } from '../../support/running-app.ts'
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

/** Waits for as long as anybody wants the answer. */
function untilCalledOff(signal: AbortSignal): Promise<never> {
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

/** Begins, and then waits for what never comes, whoever wants it. */
async function* stuck() {
  yield LINE
  await new Promise(() => {})
}

/** A promise of a library's, whose work begins when somebody waits for it. */
const inserted = { begun: 0 }
const query = {
  // biome-ignore lint/suspicious/noThenProperty: what such libraries answer
  then(resolve: (answer: object) => void) {
    inserted.begun++
    setTimeout(resolve, 1, { id: 7 })
  },
} as Promise<{ id: number }>

/** A reason that no table knows. */
class OutOfStock extends LatchkeyError {
  readonly reason = 'out_of_stock'
}

describe('What a handler answers', () => {
  let app: RunningApp
  before(async () => {
    app = await startApp({
      routes: () => [
        route('GET /declared', {
          auth: 'none',
          returns,
          handle: () => ({ lines: [LINE], total: 1, owner: 'nobody else' }) as never,
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
        route('GET /late', { auth: 'none', deadlineMs: 50, handle: ({ signal }) => untilCalledOff(signal) }),
        route('GET /patient', {
          auth: 'none',
          handle({ signal }) {
            waits.resolve()
            return untilCalledOff(signal)
          },
        }),
        route('GET /refusals/:name', {
          auth: 'none',
          handle({ params, log }) {
            log.info('refusals.asked', { name: params.name, times: 1 })
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

  it('leaves without the fields that its route does not declare', async () => {
    const { body } = await app.call('/api/declared', { method: 'GET' })
    assert.deepEqual(body, { success: true, lines: [{ sku: 'A-1' }], total: 1 })
  })

  it('is a bug, and says nothing, where it does not fit what the route declares', async () => {
    const { status, body } = await app.call('/api/unfit', { method: 'GET' })
    assert.deepEqual([status, body.reason], [500, 'internal'])
    assert.equal((await app.call('/api/no-list', { method: 'GET' })).status, 500)
  })

  it('is a list of any length, sent while it is read, item by item as it is declared', async () => {
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

  it('is no list for HEAD, whose items are let go', async () => {
    closed = deferred()
    const { status } = await app.call('/api/list?count=1000000', { method: 'HEAD' })
    assert.equal(status, 200)
    assert.equal(await closed.promise, 'closed')
    assert.ok(produced < 10)
  })

  it('is a failure like any other where a list fails before its first item', async () => {
    const { status, body } = await app.call('/api/list?count=5&fails=0', { method: 'GET' })
    assert.deepEqual([status, body.reason], [500, 'internal'])
  })

  it('breaks off where a list fails later: half of one must not look like a whole one', async () => {
    await assert.rejects(app.call('/api/list?count=50000&fails=40000', { method: 'GET' }))
    assert.equal((await app.call('/api/list?count=1', { method: 'GET' })).status, 200)
  })

  it('waits for a client that reads slowly, and ends when it goes away', async () => {
    closed = deferred()
    const { port } = app
    const asking = request({ port, path: '/api/list?count=100000000' }).end()
    const [response] = (await once(asking, 'response')) as [NodeJS.ReadableStream & { destroy(): void }]
    // The kernel takes some megabytes before the server has to wait.
    for (let before = -1; before !== produced; ) {
      before = produced
      await sleep(300)
    }
    assert.ok(produced < 10_000_000, 'nobody reads, and all was produced')
    response.destroy()
    assert.equal(await closed.promise, 'closed')
  })

  it('comes too late past the deadline of its route: 503, and the signal aborts', async () => {
    seen.length = 0
    const { status, headers } = await app.call('/api/late', { method: 'GET' })
    assert.deepEqual([status, headers.get('retry-after')], [503, '1'])
    assert.deepEqual(seen, ['Unavailable'])
  })

  it('is not wanted any more when the client went away: the signal aborts, and no line tells of it', async () => {
    seen.length = 0
    const linesBefore = app.logLines.length
    const asking = request({ port: app.port, path: '/api/patient' }).end()
    asking.on('error', () => {})
    await waits.promise
    asking.destroy()
    await until(() => seen.length > 0)
    assert.deepEqual(seen, ['ClientGone'])
    assert.deepEqual(app.logLines.slice(linesBefore), [])
  })

  it('is not called off once it is sent', async () => {
    seen.length = 0
    for (let round = 0; round < 3; round++) await app.call('/api/followed', { method: 'GET' })
    assert.deepEqual(seen, [])
  })

  it('breaks off past the deadline of its route where a list is still being read', async () => {
    await assert.rejects(app.call('/api/list/slow', { method: 'GET' }))
  })

  it('breaks off there too where the list has come to a standstill', async () => {
    await assert.rejects(app.call('/api/list/stuck', { method: 'GET' }))
  })

  it('is streamed as it is declared, and a bug where a check would need the whole of it', async () => {
    const { body } = await app.call('/api/list/described', { method: 'GET' })
    assert.deepEqual(body, { success: true, lines: [{ sku: 'A-1' }, { sku: 'A-1' }], total: 2 })
    const optional = await app.call('/api/list/optional', { method: 'GET' })
    assert.deepEqual(optional.body, { success: true, lines: [{ sku: 'A-1' }] })
    assert.equal((await app.call('/api/list/checked', { method: 'GET' })).status, 500)
  })

  it('is a refusal where a body is nested too deep for whatever looks at it', async () => {
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

  it('comes too late also while a body of no known length is being sent, and can be read', async () => {
    const asking = request({ port: app.port, path: '/api/slow-body', method: 'POST', headers: CHUNKED_JSON })
    asking.on('error', () => {}).write('{')
    const [response] = (await once(asking, 'response')) as [IncomingMessage]
    assert.deepEqual([response.statusCode, response.headers['retry-after']], [503, '1'])
    asking.end('}')
    response.resume()
    await once(response, 'end')
  })

  it('of a refusal can be read by who still sends past the deadline', async () => {
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

  it('does not begin where the body came after the deadline: the caller was told to come again', async () => {
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

  it('is not told again where it was waited for by functions of node’s', async () => {
    const linesBefore = app.logLines.length
    assert.equal((await app.call('/api/napping', { method: 'GET' })).status, 503)
    await sleep(20)
    const events = app.logLines.slice(linesBefore).map((text) => JSON.parse(text))
    assert.deepEqual(
      events.map(({ level, event }) => [level, event]),
      [['warn', 'request.failed']],
    )
  })

  it('knows the query without a schema as text, the last of what stands in it twice', async () => {
    const { body } = await app.call('/api/query?a=1&b=&a=%E2%82%AC', { method: 'GET' })
    assert.deepEqual(body.query, { a: '€', b: '' })
  })

  it('may come of a library whose promises are its own', async () => {
    const { status, body } = await app.call('/api/lines')
    assert.deepEqual([status, body], [201, { success: true, id: 7 }])
    assert.equal(inserted.begun, 1)
  })

  it('is a success, whatever its fields say', async () => {
    assert.deepEqual((await app.call('/api/claims', { method: 'GET' })).body, { success: true, a: 1 })
  })

  it('names no ability in a header that a caller made up', async () => {
    for (const name of ['%E2%82%AC', '%0D%0Aa', 'a%22,%20error=%22x'])
      assert.equal(
        (await app.call(`/api/scopes/${name}`, { method: 'GET' })).headers.get('www-authenticate'),
        'Bearer realm="api", error="insufficient_scope", scope="orders:read"',
      )
  })

  it('is a bug where it cannot be sent, and ends nothing', async () => {
    const linesBefore = app.logLines.length
    const { status, body, headers } = await app.call('/api/unsendable', { method: 'GET' })
    assert.deepEqual([status, body.reason, headers.get('set-cookie')], [500, 'internal', null])
    assert.match(app.logLines.slice(linesBefore).join(''), /"event":"request.failed"/)
  })

  it('may be a refusal of the table, with a sentence of its own', async () => {
    const absent = await app.call('/api/refusals/absent', { method: 'GET' })
    assert.deepEqual([absent.status, absent.body.error], [404, 'There is no such order.'])
    const wrong = await app.call('/api/refusals/wrong', { method: 'GET' })
    assert.deepEqual([wrong.status, wrong.body.errors], [422, { sku: ['Is not sold here.'] }])
    const unknown = await app.call('/api/refusals/unknown', { method: 'GET' })
    assert.deepEqual([unknown.status, unknown.body.reason], [500, 'internal'])
    const shared = await app.call('/api/refusals/shared', { method: 'GET' })
    assert.equal(shared.status, 500, 'what another client was told is no answer to this one')
    const unavailable = await app.call('/api/refusals/other', { method: 'GET' })
    assert.deepEqual([unavailable.status, unavailable.headers.get('retry-after')], [503, '1'])
  })

  it('logs with the id and the route of its request', async () => {
    const linesBefore = app.logLines.length
    await app.call('/api/refusals/absent', { method: 'GET', headers: { 'X-Request-Id': 'mine' } })
    const line = app.logLines.slice(linesBefore).map((text) => JSON.parse(text))[0]
    assert.deepEqual(
      [line.event, line.name, line.times, line.request_id, line.route],
      ['refusals.asked', 'absent', 1, 'mine', '/api/refusals/:name'],
    )
  })
})
