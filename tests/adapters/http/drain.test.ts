import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { route } from '../../../src/adapters/http/route.ts'
import { comparable, sendRaw } from '../../support/raw-http.ts'
import { startApp } from '../../support/running-app.ts'

const routes = () => [
  route('GET /slow/:ms', {
    auth: 'none',
    async handle({ params }) {
      await sleep(Number(params.ms))
      return {}
    },
  }),
]
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

describe('a drain', () => {
  test('lets requests in flight end, closes idle and silent connections, and listens no more', async () => {
    const app = await startApp({ routes })
    const idle = connect(app.port, '127.0.0.1')
    const silent = connect(app.port, '127.0.0.1')
    const dripping = connect(app.port, '127.0.0.1')
    for (const socket of [idle, silent, dripping]) socket.resume().on('error', () => {})
    idle.write(get('/livez'))
    dripping.write('GET /livez HTT')
    await sleep(50)
    const slow = sendRaw(app.port, get('/api/slow/300'))
    await sleep(50)
    const beganMs = performance.now()
    await app.close()
    assert.ok(performance.now() - beganMs < 8000, 'it waited for its deadline')
    const { answers, closed } = await slow
    assert.equal(answers[0]?.status, 200)
    assert.equal(comparable(answers[0]).headers.Connection, 'close')
    assert.equal(closed, true)
    await sleep(20)
    assert.deepEqual(
      [idle, silent, dripping].map(({ closed: ended }) => ended),
      [true, true, true],
    )
    await assert.rejects(fetch(`${app.url}/livez`))
  })

  test('first serves everything for its delay, with Connection: close and readiness off', async () => {
    const app = await startApp({ routes, env: { DRAIN_DELAY: '400ms' } })
    const stopping = app.service.stop({ delay: true })
    await sleep(50)
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
    await stopping
    await app.database.drop()
  })

  test('answers 503 to what is left past its deadline', async () => {
    const app = await startApp({ routes, env: { DRAIN_DEADLINE: '100ms' } })
    const slow = sendRaw(app.port, get('/api/slow/3000'), { quietMs: 5000 })
    await sleep(50)
    await app.close()
    const { answers } = await slow
    assert.deepEqual(
      answers.map(({ status }) => status),
      [503],
    )
  })
})
