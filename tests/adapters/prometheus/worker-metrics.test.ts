import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serviceMetrics } from '../../../src/adapters/prometheus/service-metrics.ts'
import { workerMetrics } from '../../../src/adapters/prometheus/worker-metrics.ts'
import type { MetricFamily } from '../../../src/application/ports/metrics.ts'

type Families = readonly MetricFamily[]

/** The response of a worker with this number of evictions. */
async function collectFromWorker(evictions: number, { leaseHeld = true } = {}): Promise<Families> {
  const metrics = serviceMetrics()
  metrics.watch({ leaseHeld: () => leaseHeld, cacheEntries: () => 10 })
  for (let time = 1; time <= evictions; time++) metrics.evicted()
  metrics.requests.observe({ method: 'GET', route: '/livez', status: 200, beganMs: performance.now() })
  // As it is received from a worker process.
  return JSON.parse(JSON.stringify(await metrics.collect()))
}

const valueIn = (families: Families, name: string) =>
  families.find((family) => family.name === name)?.values[0]?.value
const countIn = (families: Families) =>
  families
    .find(({ name }) => name === 'http_server_request_duration_seconds')
    ?.values.find(({ metricName }) => metricName?.endsWith('_count'))?.value

describe('The metrics of several workers', () => {
  test('are added, or combined to their minimum', async () => {
    const together = workerMetrics()
    const sum = await together(
      new Map([
        [1, await collectFromWorker(2)],
        [2, await collectFromWorker(3, { leaseHeld: false })],
      ]),
    )
    assert.equal(valueIn(sum, 'latchkey_token_cache_evictions_total'), 5)
    assert.equal(valueIn(sum, 'latchkey_token_cache_entries'), 20)
    assert.equal(valueIn(sum, 'latchkey_lease_held'), 0)
    assert.equal(countIn(sum), 2)
  })

  test('never decrease when a worker does not respond, ends or restarts', async () => {
    const together = workerMetrics()
    const second = await collectFromWorker(3)
    await together(
      new Map([
        [1, await collectFromWorker(2)],
        [2, second],
      ]),
    )
    const silent = await together(
      new Map([
        [1, undefined],
        [2, second],
      ]),
    )
    assert.equal(valueIn(silent, 'latchkey_token_cache_evictions_total'), 5)
    for (let time = 1; time <= 2; time++) {
      const left = await together(new Map([[2, second]]))
      assert.equal(valueIn(left, 'latchkey_token_cache_evictions_total'), 5)
      assert.equal(countIn(left), 2)
      assert.equal(
        valueIn(left, 'latchkey_token_cache_entries'),
        10,
        'the gauges of an ended worker are removed',
      )
    }
    const replaced = await together(
      new Map([
        [2, second],
        [3, await collectFromWorker(1)],
      ]),
    )
    assert.equal(valueIn(replaced, 'latchkey_token_cache_evictions_total'), 6)
    const none = await together(new Map())
    assert.equal(valueIn(none, 'latchkey_token_cache_evictions_total'), 6)
  })
})
