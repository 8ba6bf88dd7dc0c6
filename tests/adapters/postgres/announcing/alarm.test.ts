import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { timerAlarm } from '../../../../src/adapters/postgres/announcing/alarm.ts'
import { systemClock } from '../../../../src/adapters/system-clock/clock.ts'
import { movableClock } from '../../../support/fakes.ts'

describe('An alarm', () => {
  it('is never early, and acts once', async () => {
    const alarm = timerAlarm(systemClock)
    const acts: { readonly atMs: number; readonly earlyMs: number }[] = []
    const beganMs = systemClock.monotonicMs()
    // Fractions are where timers come early.
    const moments = Array.from({ length: 200 }, (_, index) => beganMs + index * 0.37)
    await Promise.all(
      moments.map(
        (atMs) =>
          new Promise<void>((resolve) => {
            alarm(atMs, () => {
              acts.push({ atMs, earlyMs: atMs - systemClock.monotonicMs() })
              resolve()
            })
          }),
      ),
    )
    await sleep(5)
    assert.equal(acts.length, moments.length)
    for (const { atMs, earlyMs } of acts) assert.ok(earlyMs <= 0, `${earlyMs} ms early at ${atMs - beganMs}`)
  })

  it('waits on when its clock stood still meanwhile', async () => {
    const clock = movableClock()
    let acts = 0
    timerAlarm(clock)(clock.monotonicMs() + 10, () => {
      acts += 1
    })
    await sleep(30)
    assert.equal(acts, 0)
    clock.advance(10)
    await sleep(30)
    assert.equal(acts, 1)
  })

  it('of a moment that is over acts in a turn of its own', async () => {
    const clock = movableClock()
    let hasActed = false
    timerAlarm(clock)(clock.monotonicMs() - 10, () => {
      hasActed = true
    })
    assert.equal(hasActed, false)
    await sleep(10)
    assert.equal(hasActed, true)
  })

  it('can be called off, before its first timer and between two', async () => {
    const clock = movableClock()
    const alarm = timerAlarm(clock)
    const act = () => assert.fail('acted')
    const callOffs = [alarm(clock.monotonicMs() + 5, act), alarm(clock.monotonicMs() + 5, act)]
    callOffs[0]?.()
    await sleep(15)
    callOffs[1]?.()
    clock.advance(100)
    await sleep(15)
    callOffs[1]?.()
  })
})
