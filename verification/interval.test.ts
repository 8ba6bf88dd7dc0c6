import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { medianInterval } from './interval.ts'
import { randomFrom } from './wire.ts'

describe('The confidence interval of a median', () => {
  it('depends on the order of the values, not on their size', () => {
    const values = [5, 1, 9, 3, 7, 2, 8, 4, 6, 1000]
    // With a chance of 2 %, the median lies below the second or above the ninth of ten values.
    assert.deepEqual(medianInterval(values), { median: 5.5, low: 2, high: 9 })
    assert.deepEqual(medianInterval([...values, 0, 10]), { median: 5.5, low: 2, high: 9 })
    assert.equal(medianInterval([3, 1, 2]).median, 2)
  })

  it('covers the whole range when there are too few values', () => {
    assert.deepEqual(medianInterval([2, 1]), { median: 1.5, low: 1, high: 2 })
    assert.deepEqual(medianInterval([1]), { median: 1, low: 1, high: 1 })
  })

  it('contains the true median in about 95 of 100 cases, also for skewed values', () => {
    const random = randomFrom(1)
    let held = 0
    for (let round = 0; round < 2000; round++) {
      const { low, high } = medianInterval(Array.from({ length: 101 }, () => -Math.log(random(1e6) / 1e6)))
      if (low <= Math.LN2 && Math.LN2 <= high) held++
    }
    assert.ok(held > 1860 && held < 1950, `${held} of 2000`)
  })
})
