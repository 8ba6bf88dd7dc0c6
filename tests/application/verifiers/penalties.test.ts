import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Penalties } from '../../../src/application/verifiers/penalties.ts'
import { movableClock } from '../../../src/testing/movable-clock.ts'

const LATE_MS = 251

function createPenalties() {
  const clock = movableClock()
  const penalties = new Penalties(clock)
  return {
    clock,
    penalties,
    /** Acknowledges after this time. */
    acknowledge: (tookMs: number, name = 'v') =>
      penalties.addAcknowledgement(name, clock.monotonicMs() - tookMs),
    hang: (name = 'v') => penalties.addExpiry(name, clock.monotonicMs() - LATE_MS),
    /** How long the penalty lasts from now, to 100 ms. */
    lastsMs(name = 'v') {
      let ms = 0
      for (; penalties.has(name); ms += 100) clock.advance(100)
      return ms
    },
  }
}

describe('The penalties of verifiers', () => {
  it('begin with 10 s for one that hung, double, and last at most 640 s', () => {
    const { hang, lastsMs } = createPenalties()
    const lasted = Array.from({ length: 8 }, () => {
      assert.equal(hang(), true)
      return lastsMs()
    })
    assert.deepEqual(lasted, [10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000, 640_000])
  })

  it('spare one whose lease ended before it had the time to acknowledge', () => {
    const { penalties, clock } = createPenalties()
    assert.equal(penalties.addExpiry('v', clock.monotonicMs() - 250), false)
    assert.equal(penalties.has('v'), false)
    assert.equal(penalties.isLate(null), false)
  })

  it('treat three late acknowledgements in a minute like none', () => {
    const { acknowledge, penalties, clock } = createPenalties()
    assert.deepEqual([acknowledge(LATE_MS), acknowledge(LATE_MS)], [false, false])
    // The first is a minute old now, and does not count any more.
    clock.advance(60_000)
    assert.deepEqual([acknowledge(LATE_MS), acknowledge(LATE_MS)], [false, false])
    assert.equal(penalties.has('v'), false)
    assert.equal(acknowledge(LATE_MS), true)
    assert.equal(penalties.has('v'), true)
  })

  it('do not count acknowledgements in time, nor those of others', () => {
    const { acknowledge, penalties } = createPenalties()
    for (const tookMs of [0, 100, 250, 250]) assert.equal(acknowledge(tookMs), false)
    for (const name of ['a', 'b', 'c']) assert.equal(acknowledge(LATE_MS, name), false)
    assert.equal(penalties.has('v') || penalties.has('a'), false)
  })

  it('start again after the verifier behaved for as long as the longest', () => {
    const { hang, lastsMs, acknowledge, clock } = createPenalties()
    hang()
    assert.equal(lastsMs(), 10_000)
    acknowledge(LATE_MS)
    clock.advance(640_001)
    hang()
    assert.equal(lastsMs(), 10_000)
  })

  it('forget the oldest of more than a thousand verifiers', () => {
    const { hang, penalties } = createPenalties()
    for (let n = 0; n <= 1000; n++) hang(`v${n}`)
    assert.equal(penalties.has('v0'), false)
    assert.equal(penalties.has('v1') && penalties.has('v1000'), true)
  })
})
