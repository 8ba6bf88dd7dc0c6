import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Labels,
  level,
  quantile,
  rate,
  readMetrics,
  shareAbove,
} from '../../../src/adapters/ops/reading.ts'

const counted = (...values: readonly (readonly [labels: Labels, value: number])[]) =>
  readMetrics([{ name: 'total', values: values.map(([labels, value]) => ({ labels, value })) }])
const NONE = readMetrics([])

/** Cumulative counts below 1, 2 and 4, and of all observations. */
const histogram = (route: string, ...counts: readonly number[]) =>
  counts.map((value, at) => ({
    metricName: 'seconds_bucket',
    labels: { le: [1, 2, 4, '+Inf'][at] as string | number, route },
    value,
  }))

describe('A level', () => {
  it('is the sum of the matching values, and nothing if there are none', () => {
    const now = counted([{ state: 'idle' }, 2], [{ state: 'used' }, 3])
    assert.equal(level('total')(now, NONE, 1), 5)
    assert.equal(level('total', ({ state }) => state === 'used')(now, NONE, 1), 3)
    assert.ok(Number.isNaN(level('other')(now, NONE, 1)))
  })
})

describe('A share above a bound', () => {
  it('is that of the observations since the previous reading, and nothing without any', () => {
    const observed = (within: number, all: number) =>
      readMetrics([
        {
          name: 'seconds',
          values: [
            { metricName: 'seconds_bucket', labels: { le: '0.25' }, value: within },
            { metricName: 'seconds_count', labels: {}, value: all },
          ],
        },
      ])
    const slow = shareAbove('0.25', 'seconds')
    assert.equal(slow(observed(16, 20), observed(10, 12), 1), 0.25)
    assert.ok(Number.isNaN(slow(observed(1, 2), observed(1, 2), 1)))
  })
})

describe('A rate', () => {
  const ofGood = rate('total', ({ result }) => result === 'good')

  it('is the increase per second, and counts a new label from 0', () => {
    const before = counted([{ result: 'good' }, 10], [{ result: 'bad' }, 1])
    const now = counted([{ result: 'good' }, 25], [{ result: 'bad' }, 90])
    assert.equal(ofGood(now, before, 5), 3)
    assert.equal(ofGood(now, NONE, 5), 5)
    assert.equal(ofGood(NONE, NONE, 5), 0)
  })

  it('is never negative when a process ends', () => {
    assert.equal(ofGood(counted([{ result: 'good' }, 1]), counted([{ result: 'good' }, 9]), 5), 0)
  })

  it('is not affected by registry objects that continue to count', () => {
    const live = { labels: { result: 'good' }, value: 1 }
    const before = readMetrics([{ name: 'total', values: [live] }])
    live.value = 7
    assert.equal(ofGood(readMetrics([{ name: 'total', values: [live] }]), before, 1), 6)
  })
})

describe('A quantile', () => {
  const before = readMetrics([
    { name: 'seconds', values: [...histogram('a', 100, 100, 100, 100), ...histogram('b', 0, 0, 0, 0)] },
  ])
  const now = readMetrics([
    { name: 'seconds', values: [...histogram('a', 102, 104, 104, 104), ...histogram('b', 0, 4, 4, 6)] },
  ])
  const ofA = ({ route }: Labels) => route === 'a'

  it('is interpolated in the buckets of new observations, of all routes or of some', () => {
    assert.equal(quantile(0.5, 'seconds', ofA)(now, before, 1), 1)
    assert.equal(quantile(0.75, 'seconds', ofA)(now, before, 1), 1.5)
    assert.equal(quantile(0.5, 'seconds')(now, before, 1), 1.5)
  })

  it('is the highest bound for values above it, and nothing without observations', () => {
    assert.equal(quantile(0.99, 'seconds')(now, before, 1), 4)
    assert.ok(Number.isNaN(quantile(0.5, 'seconds')(now, now, 1)))
    assert.ok(Number.isNaN(quantile(0.5, 'seconds')(NONE, NONE, 1)))
  })
})
