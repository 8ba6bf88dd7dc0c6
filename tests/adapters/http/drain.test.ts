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

/** Far less than the deadline of the test that has one to miss. */
const AT_ONCE_MS = 30_000

/** Requests that have begun, which wait to be let go. */
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

/** A client in a thread of its own, which tells when its request was sent, and what came of it. */
const CLIENT = `
const { parentPort, workerData: { port, text, sent } } = require('node:worker_threads')
parentPort.once('message', () => {
  let answer = ''
  const socket = require('node:net').connect(port, '127.0.0.1', () => {
    socket.write(text, () => {
      Atomics.store(sent, 0, 1)
      Atomics.notify(sent, 0)
    })
  })
  socket.on('data', (bytes) => { answer += bytes })
  socket.on('error', ({ code }) => { answer = code })
  socket.on('close', () => parentPort.postMessage(answer))
})`

describe('a drain', () => {
  test('lets requests in flight end, closes idle and silent connections, and listens no more', async (t) => {
    const app = await startApp({ routes, env: { DRAIN_DEADLINE: '1m' } })
    t.after(() => app.close())
    const idle = connect(app.port, '127.0.0.1')
    const silent = connect(app.port, '127.0.0.1')
    const dripping = connect(app.port, '127.0.0.1')
    for (const socket of [idle, silent, dripping]) socket.resume().on('error', () => {})
    idle.write(get('/livez'))
    await once(idle, 'data')
    dripping.write('GET /livez HTT')
    const slow = sendRaw(app.port, get('/api/held'), { quietMs: AT_ONCE_MS })
    await until(() => begun.length === 1)
    const beganMs = performance.now()
    const closing = app.close()
    begun[0]?.resolve()
    await closing
    assert.ok(performance.now() - beganMs < AT_ONCE_MS, 'it waited for its deadline')
    const { answers, closed } = await slow
    assert.equal(answers[0]?.status, 200)
    assert.equal(comparable(answers[0]).headers.Connection, 'close')
    assert.equal(closed, true)
    await until(() => [idle, silent, dripping].every(({ closed: ended }) => ended))
    await assert.rejects(fetch(`${app.url}/livez`))
  })

  test('first serves everything for its delay, with Connection: close and readiness off', async (t) => {
    const app = await startApp({ routes, env: { DRAIN_DELAY: '2s' } })
    const stopping = app.service.stop({ delay: true })
    t.after(async () => {
      await stopping
      await app.database.drop()
    })
    const live = await sendRaw(app.port, get('/livez'))
    assert.equal(comparable(live.answers[0]).status, 200)
    assert.equal(comparable(live.answers[0]).headers.Connection, 'close')
    const ready = await sendRaw(app.port, get('/readyz'))
    assert.deepEqual(comparable(ready.answers[0]).body, {
      success: false,
      code: 503,
      error: 'The service cannot answer right now. Please try again.',
      reason: 'unavailable',
    })
    assert.equal(comparable(ready.answers[0]).headers['Retry-After'], '1')
  })

  test('serves who has connected before the listener closes and was not taken in yet', async (t) => {
    const app = await startApp({ env: { DRAIN_DELAY: '300ms' } })
    const sent = new Int32Array(new SharedArrayBuffer(4))
    const client = new Worker(CLIENT, {
      eval: true,
      workerData: { port: app.port, text: get('/livez'), sent },
    })
    t.after(() => client.terminate())
    await once(client, 'online')
    const responded = once(client, 'message')
    // Just before the delay is over, in the same turn of the loop.
    setTimeout(() => {
      client.postMessage('connect')
      Atomics.wait(sent, 0, 0, 10_000)
    }, 300)
    await app.service.stop({ delay: true })
    const [answer] = await responded
    assert.match(answer, /^HTTP\/1\.1 200 .*Connection: close/s)
    await app.database.drop()
  })

  test('answers every request that has begun on a connection, in their order', async (t) => {
    const app = await startApp({ routes })
    t.after(() => app.close())
    const slow = sendRaw(app.port, get('/api/held').repeat(3), { answers: 3, quietMs: AT_ONCE_MS })
    await until(() => begun.length === 3)
    const closing = app.close()
    for (const held of begun.toReversed()) {
      held.resolve()
      await turn()
    }
    await closing
    const { answers } = await slow
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    )
    assert.equal(comparable(answers[2]).headers.Connection, 'close')
  })

  test('answers 503 to what is left past its deadline', async (t) => {
    const app = await startApp({ routes, env: { DRAIN_DEADLINE: '100ms' } })
    t.after(() => app.close())
    const slow = sendRaw(app.port, get('/api/held'), { quietMs: AT_ONCE_MS })
    await until(() => begun.length === 1)
    await app.close()
    const { answers } = await slow
    assert.deepEqual(
      answers.map(({ status }) => status),
      [503],
    )
  })
})
