import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { medianInterval } from './interval.ts'
import { randomFrom } from './wire.ts'

describe('The interval of a median', () => {
  it('goes by the order of the values, not by their size', () => {
    const values = [5, 1, 9, 3, 7, 2, 8, 4, 6, 1000]
    // Below the second or above the ninth of ten values the median lies with a chance of 2 %.
    assert.deepEqual(medianInterval(values), { median: 5.5, low: 2, high: 9 })
    assert.deepEqual(medianInterval([...values, 0, 10]), { median: 5.5, low: 2, high: 9 })
    assert.equal(medianInterval([3, 1, 2]).median, 2)
  })

  it('is all that was seen where too little was', () => {
    assert.deepEqual(medianInterval([2, 1]), { median: 1.5, low: 1, high: 2 })
    assert.deepEqual(medianInterval([1]), { median: 1, low: 1, high: 1 })
  })

  it('holds the true median about 95 times of 100, however lopsided the values are', () => {
    const random = randomFrom(1)
    let held = 0
    for (let round = 0; round < 2000; round++) {
      const { low, high } = medianInterval(Array.from({ length: 101 }, () => -Math.log(random(1e6) / 1e6)))
      if (low <= Math.LN2 && Math.LN2 <= high) held++
    }
    assert.ok(held > 1860 && held < 1950, `${held} of 2000`)
  })
})
