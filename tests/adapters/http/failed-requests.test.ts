import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { route } from '../../../src/adapters/http/routing/route.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { createTestApp, type TestApp } from '../../../src/testing/test-app.ts'

const REQUESTS = 100

async function start(): Promise<TestApp> {
  return createTestApp({
    routes: () => [
      route('GET /bug', {
        auth: 'none',
        handle() {
          throw new Error('a bug')
        },
      }),
      route('GET /outage', {
        auth: 'none',
        handle() {
          throw new Unavailable()
        },
      }),
    ],
  })
}

describe('The log', () => {
  test('has few lines of many failed requests from one address, and the number of the others', async () => {
    const app = await start()
    const beganMs = performance.now()
    const requests = Array.from({ length: REQUESTS }, () => app.call('/api/outage', { method: 'GET' }))
    for (const { status } of await Promise.all(requests)) assert.equal(status, 503)
    const seconds = Math.ceil((performance.now() - beganMs) / 1000)
    await app.close()
    const failed = app.logged.filter(({ event }) => event === 'request.failed').length
    const leftOut = app.logged.filter(({ event }) => event === 'request.failed_left_out')
    // Ten a second. On a slow machine, the requests take several.
    assert.ok(failed <= 10 * (seconds + 1), `${failed} lines in ${seconds} s`)
    assert.equal(
      leftOut.reduce((sum, { count = 0 }) => sum + count, failed),
      REQUESTS,
    )
    for (const { level, address } of leftOut) assert.deepEqual([level, address], ['warn', '127.0.0.1'])
    assert.equal(app.errors.length, REQUESTS)
  })

  test('has a line with its request ID for each bug', async () => {
    const app = await start()
    const ids = []
    for (let count = 0; count < REQUESTS; count++) {
      const { status, headers } = await app.call('/api/bug', { method: 'GET' })
      assert.equal(status, 500)
      ids.push(headers.get('x-request-id'))
    }
    await app.close()
    const lines = app.logged.filter(({ event }) => event === 'request.failed')
    assert.deepEqual(
      lines.map(({ request_id }) => request_id),
      ids,
    )
  })

  test('warns once about X-Forwarded-For while no proxy is trusted', async () => {
    const app = await start()
    const call = () =>
      app.call('/livez', { method: 'GET', headers: { 'X-Forwarded-For': '192.0.2.1, canary' } })
    for (let count = 0; count < 3; count++) await call()
    await app.close()
    const warnings = app.logged.filter(({ event }) => event === 'proxy.not_trusted')
    assert.equal(warnings.length, 1)
    assert.match(warnings[0]?.detail ?? '', /TRUST_PROXY/)
    assert.doesNotMatch(JSON.stringify(app.logged), /canary|192\.0\.2\.1/)
  })

  test('has no such warning with TRUST_PROXY=1, or without the header', async () => {
    const app = await createTestApp({ settings: { TRUST_PROXY: '1' } })
    await app.call('/livez', { method: 'GET', headers: { 'X-Forwarded-For': '192.0.2.1' } })
    await app.close()
    const direct = await start()
    await direct.call('/livez', { method: 'GET' })
    await direct.close()
    assert.deepEqual(
      [...app.logged, ...direct.logged].filter(({ event }) => event === 'proxy.not_trusted'),
      [],
    )
  })
})
