import assert from 'node:assert/strict'
import { after, beforeEach, describe, test } from 'node:test'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import { type Deferred, deferred } from '../../support/fakes.ts'
import { openRawClient, type RawClient } from '../../support/raw-client.ts'
import { until } from '../../support/until.ts'

const MAX = 3
const LIVE = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'
const HELD = 'GET /api/held HTTP/1.1\r\nHost: a\r\n\r\n'

/** Requests of `GET /held` whose handler has begun. */
const held: Deferred<void>[] = []
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
]

describe('at MAX_CONNECTIONS', () => {
  let app: TestApp
  let clients: RawClient[] = []
  beforeEach(async () => {
    await close()
    held.splice(0)
    app = await createTestApp({ routes, settings: { MAX_CONNECTIONS: String(MAX) } })
  })
  after(close)

  async function close(): Promise<void> {
    for (const { socket } of clients) socket.destroy()
    for (const request of held) request.resolve()
    clients = []
    await app?.close()
  }

  async function open(): Promise<RawClient> {
    const client = await openRawClient(Number(new URL(app.url).port))
    clients.push(client)
    return client
  }
  async function openServed(): Promise<RawClient> {
    const client = await open()
    await serve(client)
    return client
  }
  async function serve({ socket, received }: RawClient): Promise<void> {
    const before = received().length
    socket.write(LIVE)
    await until(() => received().length > before)
  }
  async function openBusy(): Promise<RawClient> {
    const count = held.length
    const client = await open()
    client.socket.write(HELD)
    await until(() => held.length > count)
    return client
  }
  const closedOnes = (...some: readonly RawClient[]) => some.map(({ isClosed }) => isClosed())

  test('a new connection is served, and the one that has been idle for longest is closed', async () => {
    const [first, second, third] = [await openServed(), await openServed(), await openServed()]
    await serve(first)
    await openServed()
    await until(second.isClosed)
    assert.deepEqual(closedOnes(first, second, third), [false, true, false])
    await openServed()
    await until(third.isClosed)
    assert.deepEqual(closedOnes(first, second, third), [false, true, true])
    await serve(first)
  })

  test('a connection with a request in progress stays open', async () => {
    const busy = await openBusy()
    const silent = await open()
    await openServed()
    await openServed()
    await until(silent.isClosed)
    assert.equal(busy.isClosed(), false)
    held[0]?.resolve()
    await until(() => busy.received().startsWith('HTTP/1.1 200'))
  })

  test('a new connection gets 503 while every other one has a request in progress', async () => {
    for (let count = 0; count < MAX; count++) await openBusy()
    const refused = await open()
    await until(refused.isClosed)
    assert.match(refused.received(), /^HTTP\/1\.1 503 [\s\S]*Retry-After: 1[\s\S]*"reason":"unavailable"/)
    held[0]?.resolve()
    await until(() => clients[0]?.received().startsWith('HTTP/1.1 200') ?? false)
    await openServed()
  })

  test('any number of refused connections is closed, and none of their requests is handled', async () => {
    for (let count = 0; count < MAX; count++) await openBusy()
    const refused = await Promise.all(Array.from({ length: 200 }, open))
    for (const { socket } of refused) socket.write(HELD)
    await until(() => refused.every(({ isClosed }) => isClosed()))
    assert.equal(held.length, MAX)
  })

  test('the log has one line about many dropped connections', async () => {
    for (let count = 0; count < MAX; count++) await openBusy()
    for (let count = 0; count < 20; count++) await until((await open()).isClosed)
    const lines = app.logged.filter(({ event }) => event === 'connections.limit')
    assert.deepEqual(lines, [
      {
        level: 'warn',
        event: 'connections.limit',
        detail: 'MAX_CONNECTIONS=3 is reached: 0 idle connections closed, 1 new ones refused.',
      },
    ])
    app.clock.advance(60_000)
    assert.match(app.logged.at(-1)?.detail ?? '', /: 0 idle connections closed, 19 new ones refused\.$/)
  })
})
