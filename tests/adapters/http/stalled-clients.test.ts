import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { streamed } from '../../../src/adapters/http/response/streamed-list.ts'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'
import { openRawClient, type RawClient } from '../../support/raw-client.ts'
import { until } from '../../support/until.ts'

/** More than the operating system buffers for a connection on loopback. */
const LARGE_BYTES = 32 * 1024 * 1024
/** A stop that waited for the deadline of the drain would exceed it. */
const TIMEOUT_MS = 120_000

let returned = 0
beforeEach(() => {
  returned = 0
})
const routes = () => [
  route('GET /large', { auth: 'none', handle: () => ({ text: 'x'.repeat(LARGE_BYTES) }) }),
  route('GET /list', { auth: 'none', handle: () => streamed('items', endless()) }),
]

function* endless(): Generator<string> {
  try {
    for (;;) yield 'x'.repeat(1000)
  } finally {
    returned += 1
  }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`
const start = (settings: Readonly<Record<string, string>> = {}) =>
  createTestApp({
    routes,
    settings: { ...settings, HEADERS_TIMEOUT: '1s', REQUEST_TIMEOUT: '1s', DRAIN_DEADLINE: '10m' },
  })

async function readMetric(app: TestApp, name: string): Promise<number> {
  let text: unknown
  // On a busy machine, the first response may be a 503.
  await until(async () => {
    text = (await app.asService().call('/metrics', { method: 'GET' })).body
    return typeof text === 'string'
  })
  return Number(
    String(text)
      .split('\n')
      .find((line: string) => line.startsWith(name))
      ?.split(' ')[1],
  )
}
const stalled = (app: TestApp) => readMetric(app, 'latchkey_connections_dropped_total{reason="stalled"}')

/** Sends the bytes and reads nothing. */
async function openDeaf({ url }: { readonly url?: string | undefined }, bytes: string): Promise<RawClient> {
  const client = await openRawClient(Number(new URL(url ?? '').port))
  client.socket.pause()
  client.socket.write(bytes)
  return client
}

describe('a client that reads nothing', () => {
  let app: TestApp
  before(async () => {
    app = await start()
  })
  after(() => app.close())

  for (const [kind, bytes] of [
    ['of a large response', get('/api/large')],
    ['of pipelined files', get('/docs/page.js').repeat(3000)],
    ['of a streamed list whose generator returns', get('/api/list')],
  ] as const)
    test(`${kind} is disconnected, and counted`, async (t) => {
      const before = await stalled(app)
      const { socket } = await openDeaf(app, bytes)
      t.after(() => socket.destroy())
      await until(async () => (await stalled(app)) > before)
      await until(async () => (await readMetric(app, 'http_server_active_requests')) === 1)
      if (bytes === get('/api/list')) assert.equal(returned, 1)
    })
})

test('a client of the metrics listener that reads nothing is disconnected', async (t) => {
  const app = await start({ METRICS_PORT: '0' })
  t.after(() => app.close())
  const url = app.logged.find(({ event }) => event === 'metrics.started')?.address
  const client = await openDeaf({ url }, get('/metrics').repeat(3000))
  t.after(() => client.socket.destroy())
  await until(() => {
    // Only a write shows the reset to a client that does not read.
    client.socket.write(' ')
    return client.isClosed()
  })
})

test('a client that reads slowly gets its whole response', { timeout: TIMEOUT_MS }, async (t) => {
  const app = await start()
  t.after(() => app.close())
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  let bytes = 0
  // The pauses are shorter than the timeout; together they are longer.
  const pause = () => {
    socket.pause()
    setTimeout(() => socket.resume(), 4)
  }
  socket.on('data', (chunk) => {
    bytes += chunk.length
    pause()
  })
  socket.write(get('/api/large'))
  await until(() => socket.closed || bytes > LARGE_BYTES)
  assert.equal(socket.closed, false)
  assert.equal(await stalled(app), 0)
})

test('a stop does not wait for its deadline for clients that do not read', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const app = await start()
  t.after(() => app.close())
  for (const path of ['/api/list', '/api/large']) {
    const { socket } = await openDeaf(app, get(path))
    t.after(() => socket.destroy())
  }
  await until(async () => (await readMetric(app, 'http_server_active_requests')) === 3)
  await app.close()
  assert.equal(returned, 1)
})
