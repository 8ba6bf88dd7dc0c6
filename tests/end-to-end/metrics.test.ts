import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { METRICS, REQUEST_BOUNDS } from '../../src/adapters/prometheus/definitions.ts'
import { orderRoutes } from '../support/documented-routes.ts'
import { hasPromtool, promtoolFaults, type ReadMetrics, readMetrics } from '../support/prometheus.ts'
import { sendRaw } from '../support/raw-http.ts'
import { type RunningApp, SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

const DURATION = 'http_server_request_duration_seconds'
const ID = '3f2b1c9e-5d47-4a86-9c1d-0f6e8a7b2c34'
const CACHE_ENTRIES = 2

const request = (method: string, route: string, status: string) => ({
  http_request_method: method,
  http_route: route,
  http_response_status_code: status,
})

describe('the metrics of a service', () => {
  let app: RunningApp
  let email: string
  let metrics: ReadMetrics
  let text: string

  before(async () => {
    app = await startApp({
      routes: orderRoutes,
      env: {
        TOKEN_CACHE_MAX: String(CACHE_ENTRIES),
        DATABASE_POOL_MAX: '3',
        LOGIN_LIMIT_ACCOUNT: '1/15m',
        AUDIT_LOG: '/dev/null',
      },
    })
    email = (await app.addCustomer()).email
    const others = await Promise.all(Array.from({ length: CACHE_ENTRIES }, () => app.addCustomer()))
    await ask()
    // A stalled machine suspends the lease, and validations then bypass the cache.
    await until(async () => {
      const { body } = await app.call('/readyz', { method: 'GET', token: SERVICE_SECRET })
      return body.checks.invalidations === 'ok'
    })

    const token = await app.login(email)
    for (let time = 1; time <= 4; time++) await app.call('/api/me', { token })
    await app.call(`/api/orders/${ID}`, { method: 'GET', token })
    // One token is malformed, one has a wrong checksum, one is unknown.
    for (const wrong of [
      'no-token',
      `${token.slice(0, -1)}_`,
      'lk_0123456789ABCDEFGHIJabcdefghijKLMNOPQRST2m5ATr',
    ])
      await app.call('/api/me', { token: wrong })
    for (const other of others) await app.call('/api/me', { token: await app.login(other.email) })
    for (const password of ['wrong', 'wrong again'])
      await app.call('/api/login', { body: { email, password } })
    await app.call('/nowhere', { method: 'PUT' })
    await app.call(`/api/nowhere/${ID}`, { method: 'PROPFIND' })
    await sendRaw(app.port, 'GET / HTTP/1.1\r\nHost : x\r\n\r\n', { responses: 1 })
    text = await ask()
    metrics = readMetrics(text)
  })
  after(() => app.close())

  async function ask(): Promise<string> {
    const response = await fetch(`${app.url}/metrics`, {
      headers: { Authorization: `Bearer ${SERVICE_SECRET}` },
    })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    return response.text()
  }

  test('require a service token', async () => {
    const { status, body } = await app.call('/metrics', { method: 'GET' })
    assert.deepEqual([status, body.reason], [401, 'invalid_service_token'])
  })

  test('match the documentation, and each has a value', { skip: postgresAlone }, () => {
    for (const [name, { type, labels }] of Object.entries(METRICS)) {
      assert.equal(metrics.types.get(name), type, name)
      const [first] = metrics.labels(type === 'histogram' ? `${name}_count` : name)
      assert.deepEqual(first && Object.keys(first).sort(), [...labels].sort(), name)
    }
  })

  test('count requests by method, template and status', () => {
    for (const [labels, count] of [
      [request('POST', '/api/login', '200'), 1 + CACHE_ENTRIES],
      [request('POST', '/api/login', '401'), 1],
      [request('POST', '/api/login', '429'), 1],
      [request('POST', '/api/me', '200'), 4 + CACHE_ENTRIES],
      [request('POST', '/api/me', '401'), 3],
      [request('GET', '/api/orders/:id', '200'), 1],
      [request('PUT', 'unmatched', '404'), 1],
      [request('_OTHER', 'unmatched', '404'), 1],
      [request('_OTHER', 'unmatched', '400'), 1],
      [request('GET', '/metrics', '200'), 1],
    ] as const)
      assert.equal(metrics.value(`${DURATION}_count`, labels), count, JSON.stringify(labels))
  })

  test('have cumulative duration buckets', () => {
    const all = metrics.labels(`${DURATION}_count`)
    assert.ok(all.length > 0)
    for (const labels of all) {
      const counts = [...REQUEST_BOUNDS, '+Inf'].map((bound) =>
        metrics.value(`${DURATION}_bucket`, { ...labels, le: String(bound) }),
      )
      assert.deepEqual(
        counts,
        counts.toSorted((a, b) => Number(a) - Number(b)),
      )
      assert.equal(counts.at(-1), metrics.value(`${DURATION}_count`, labels))
      const sum = metrics.value(`${DURATION}_sum`, labels) ?? Number.NaN
      assert.ok(sum >= 0 && sum < 600)
    }
  })

  test('count logins by result', () => {
    const count = (result: string) => metrics.value('latchkey_logins_total', { result })
    assert.deepEqual(['succeeded', 'failed', 'throttled', 'unavailable'].map(count), [
      1 + CACHE_ENTRIES,
      1,
      1,
      0,
    ])
  })

  test('count validations by source and the entries of a full cache', () => {
    const count = (source: string) => metrics.value('latchkey_token_validations_total', { source })
    // The first validation of each token and the unknown token are read; the others are cached.
    assert.deepEqual(['cache', 'database', 'checksum', 'refused'].map(count), [
      4,
      1 + 1 + CACHE_ENTRIES,
      2,
      0,
    ])
    assert.equal(metrics.value('latchkey_token_cache_entries'), CACHE_ENTRIES)
    assert.equal(metrics.value('latchkey_token_cache_evictions_total'), 1)
    assert.equal(metrics.value('latchkey_token_cache_discarded_fills_total'), 0)
  })

  test('report the lease', { skip: postgresAlone }, () =>
    // A stalled machine suspends the lease until the next round trip.
    until(async () => readMetrics(await ask()).value('latchkey_lease_held') === 1),
  )

  test('report listener connection, pool, hashing and event loop', { skip: postgresAlone }, () => {
    assert.ok((metrics.value('latchkey_invalidation_lag_seconds_count') ?? 0) > 0)
    assert.equal(metrics.value('db_client_connection_max'), 3)
    assert.equal(metrics.value('db_client_connection_pending_requests'), 0)
    const connections = (state: string) =>
      metrics.value('db_client_connections', { db_client_connection_state: state })
    // One connection may be writing a last use.
    const [used = Number.NaN, idle = Number.NaN] = ['used', 'idle'].map(
      (state) => connections(state) ?? undefined,
    )
    assert.ok(used >= 0 && idle >= 0 && used + idle >= 1 && used + idle <= 3, `${used} used, ${idle} idle`)
    assert.equal(metrics.value('latchkey_hashing_running'), 0)
    assert.equal(metrics.value('latchkey_hashing_waiting'), 0)
    // The request for the metrics itself.
    assert.equal(metrics.value('http_server_active_requests'), 1)
    const [p50 = Number.NaN, max = Number.NaN] = ['p50', 'max'].map(
      (at) => metrics.value(`nodejs_eventloop_delay_${at}_seconds`) ?? undefined,
    )
    assert.ok(p50 >= 0 && max >= p50 && max < 60)
  })

  test('count active tokens every minute', () => {
    assert.equal(metrics.value('latchkey_active_tokens'), 0, 'the count of the first request')
  })

  test('have no label with an id, an e-mail or a requested path', () => {
    assert.doesNotMatch(text, /[0-9a-f]{8}-|@|nowhere/)
  })

  test('pass promtool', { skip: !hasPromtool() && 'promtool is not installed' }, () => {
    assert.equal(promtoolFaults(text), '')
  })
})
