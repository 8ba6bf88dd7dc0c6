import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReadableFamily } from '../../../src/adapters/ops/reading.ts'
import { createSamples } from '../../../src/adapters/ops/samples.ts'
import { startSampling } from '../../../src/adapters/ops/sampling.ts'
import { movableClock } from '../../../src/testing/movable-clock.ts'
import { recordingLog } from '../../../src/testing/recorded.ts'
import { deferred, turn } from '../../support/fakes.ts'

function sampled(keep: number) {
  const clock = movableClock()
  let failed = 0
  const collect = async (): Promise<readonly ReadableFamily[]> => [
    { name: 'latchkey_logins_total', values: [{ labels: { result: 'failed' }, value: failed }] },
    { name: 'latchkey_hashing_waiting', values: [{ labels: {}, value: 1 / 3 }] },
  ]
  const samples = createSamples({ collect, clock, keep })
  return {
    samples,
    clock,
    async after(ms: number, more: number) {
      clock.advance(ms)
      failed += more
      await samples.take()
    },
  }
}

describe('Samples', () => {
  it('begin with the second reading, and contain null for missing values', async () => {
    const { samples, clock, after } = sampled(3)
    await samples.take()
    assert.deepEqual(samples.table().at_ms, [])
    await after(5000, 10)
    const { at_ms, logins_failed, hashing_waiting, lease_held, duration_p99 } = samples.table()
    assert.deepEqual(at_ms, [clock.nowMs()])
    assert.deepEqual(logins_failed, [2])
    assert.deepEqual(hashing_waiting, [0.3333])
    assert.deepEqual([lease_held, duration_p99], [[null], [null]])
  })

  it('are the most recent ones, oldest first', async () => {
    const { samples, clock, after } = sampled(3)
    await samples.take()
    for (const more of [1, 2, 3, 4, 5]) await after(1000, more)
    assert.deepEqual(samples.table().logins_failed, [3, 4, 5])
    assert.deepEqual(
      samples.table().at_ms,
      [2000, 1000, 0].map((ms) => clock.nowMs() - ms),
    )
  })

  it('are not taken when no time has passed', async () => {
    const { samples, after } = sampled(3)
    await samples.take()
    await after(0, 9)
    assert.deepEqual(samples.table().at_ms, [])
  })
})

describe('Sampling', () => {
  it('takes one sample at a time until it is stopped', async () => {
    const taking = deferred<void>()
    let [taken, meanwhile] = [0, 0]
    const others = setInterval(() => meanwhile++, 1)
    const take = () => (++taken === 1 ? taking.promise : Promise.resolve())
    const stop = startSampling({ take, table: () => assert.fail() }, 1, recordingLog())
    while (meanwhile < 10) await turn()
    assert.equal(taken, 1)
    taking.resolve()
    while (taken < 3) await turn()
    stop()
    const last = taken
    for (meanwhile = 0; meanwhile < 10; ) await turn()
    clearInterval(others)
    assert.equal(taken, last)
  })

  it('logs only the first of several consecutive failures', async () => {
    const log = recordingLog()
    let taken = 0
    const take = async () => {
      if (++taken % 4 !== 0) throw new RangeError('as it happens')
    }
    const stop = startSampling({ take, table: () => assert.fail() }, 1, log)
    while (taken < 8) await turn()
    stop()
    await turn()
    const line = { level: 'warn', event: 'ops.sampling_failed', error: 'RangeError' }
    assert.deepEqual(log.logged, [line, line])
  })
})
