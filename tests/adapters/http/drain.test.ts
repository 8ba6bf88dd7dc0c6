import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeEach, describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { type Deferred, deferred, turn } from '../../support/fakes.ts'
import { comparable, sendRaw } from '../../support/raw-http.ts'
import { startApp } from '../../support/running-app.ts'
import { until } from '../../support/until.ts'

/** Less than the deadline of the drain that must not wait for it. */
const MAX_DRAIN_MS = 30_000

/** Started requests, which wait to be resolved. */
const begun: Deferred<void>[] = []
beforeEach(() => void begun.splice(0))

const routes = () => [
  route('GET /held', {
    auth: 'none',
    async handle() {
      const held = deferred<void>()
      begun.push(held)
      await held.promise
      return {}
    },
  }),
]
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

/** A client in a separate thread. It signals when its request is sent, and posts the response or the error code. */
const CLIENT = `
const { parentPort, workerData: { port, text, sent } } = require('node:worker_threads')
parentPort.once('message', () => {
  let response = ''
  const socket = require('node:net').connect(port, '127.0.0.1', () => {
    socket.write(text, () => {
      Atomics.store(sent, 0, 1)
      Atomics.notify(sent, 0)
    })
  })
  socket.on('data', (bytes) => { response += bytes })
  socket.on('error', ({ code }) => { response = code })
  socket.on('close', () => parentPort.postMessage(response))
})`

describe('a drain', () => {
  test('waits for requests in flight, closes idle and silent connections, and stops listening', async (t) => {
    const app = await startApp({ routes, env: { DRAIN_DEADLINE: '1m' } })
    t.after(() => app.close())
    const idle = connect(app.port, '127.0.0.1')
    const silent = connect(app.port, '127.0.0.1')
    const dripping = connect(app.port, '127.0.0.1')
    for (const socket of [idle, silent, dripping]) socket.resume().on('error', () => {})
    idle.write(get('/livez'))
    await once(idle, 'data')
    dripping.write('GET /livez HTT')
    const slow = sendRaw(app.port, get('/api/held'), { quietMs: MAX_DRAIN_MS })
    await until(() => begun.length === 1)
    const beganMs = performance.now()
    const closing = app.close()
    begun[0]?.resolve()
    await closing
    assert.ok(performance.now() - beganMs < MAX_DRAIN_MS, 'the drain waited for its deadline')
    const { responses, closed } = await slow
    assert.equal(responses[0]?.status, 200)
    assert.equal(comparable(responses[0]).headers.Connection, 'close')
    assert.equal(closed, true)
    await until(() => [idle, silent, dripping].every(({ closed: ended }) => ended))
    await assert.rejects(fetch(`${app.url}/livez`))
  })

  test('serves requests for its delay, with Connection: close, and is not ready', async (t) => {
    const app = await startApp({ routes, env: { DRAIN_DELAY: '2s' } })
    const stopping = app.service.stop({ delay: true })
    t.after(async () => {
      await stopping
      await app.database.drop()
    })
    const live = await sendRaw(app.port, get('/livez'))
    assert.equal(comparable(live.responses[0]).status, 200)
    assert.equal(comparable(live.responses[0]).headers.Connection, 'close')
    const ready = await sendRaw(app.port, get('/readyz'))
    assert.deepEqual(comparable(ready.responses[0]).body, {
      success: false,
      code: 503,
      error: 'The service cannot respond right now. Please try again.',
      reason: 'unavailable',
    })
    assert.equal(comparable(ready.responses[0]).headers['Retry-After'], '1')
  })

  test('serves a client in the backlog that connected before the listener closed', async (t) => {
    const app = await startApp({ env: { DRAIN_DELAY: '300ms' } })
    const sent = new Int32Array(new SharedArrayBuffer(4))
    const client = new Worker(CLIENT, {
      eval: true,
      workerData: { port: app.port, text: get('/livez'), sent },
    })
    t.after(() => client.terminate())
    await once(client, 'online')
    const responded = once(client, 'message')
    // Just before the delay ends, in the same turn of the event loop.
    setTimeout(() => {
      client.postMessage('connect')
      Atomics.wait(sent, 0, 0, 10_000)
    }, 300)
    await app.service.stop({ delay: true })
    const [response] = await responded
    assert.match(response, /^HTTP\/1\.1 200 .*Connection: close/s)
    await app.database.drop()
  })

  test('responds to every started request of a connection, in order', async (t) => {
    const app = await startApp({ routes })
    t.after(() => app.close())
    const slow = sendRaw(app.port, get('/api/held').repeat(3), { responses: 3, quietMs: MAX_DRAIN_MS })
    await until(() => begun.length === 3)
    const closing = app.close()
    for (const held of begun.toReversed()) {
      held.resolve()
      await turn()
    }
    await closing
    const { responses } = await slow
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 200],
    )
    assert.equal(comparable(responses[2]).headers.Connection, 'close')
  })

  test('responds with 503 to the remaining requests after its deadline', async (t) => {
    const app = await startApp({ routes, env: { DRAIN_DEADLINE: '100ms' } })
    t.after(() => app.close())
    const slow = sendRaw(app.port, get('/api/held'), { quietMs: MAX_DRAIN_MS })
    await until(() => begun.length === 1)
    await app.close()
    const { responses } = await slow
    assert.deepEqual(
      responses.map(({ status }) => status),
      [503],
    )
  })
})
