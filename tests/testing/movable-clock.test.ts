import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { clockContract } from '../../src/testing/contracts/clock.ts'
import { type MovableClock, movableClock, neverStuck } from '../../src/testing/movable-clock.ts'

for (const [name, change] of [
  ['a movable clock', (clock: MovableClock) => clock],
  ['a clock that is never stuck', neverStuck],
] as const) {
  clockContract(name, () => {
    const clock = change(movableClock())
    return { clock, pass: async (ms) => clock.advance(ms) }
  })
}

describe('A movable clock', () => {
  it('calls a due timer once when it is advanced, and not before', () => {
    const clock = movableClock(1000)
    let calls = 0
    clock.after(10, () => {
      calls += 1
    })
    const cancel = clock.after(10, () => assert.fail('was cancelled'))
    cancel()
    assert.equal(clock.nowMs(), 1000)
    clock.advance(9)
    assert.equal(calls, 0)
    clock.advance(1)
    clock.advance(10)
    assert.equal(calls, 1)
    assert.equal(clock.nowMs(), 1020)
  })

  it('sets back only the wall clock', () => {
    const clock = movableClock(1000)
    const before = clock.monotonicMs()
    clock.setWall(-500)
    assert.deepEqual([clock.nowMs(), clock.monotonicMs()], [500, before])
  })
})

describe('A clock that is never stuck', () => {
  it('calls a timer once after its real delay, without being advanced', async () => {
    const clock = neverStuck(movableClock(1000))
    let calls = 0
    await new Promise<void>((resolve) => {
      // Timers of the clock do not keep the process alive, so another timer must.
      const keepAlive = setTimeout(() => assert.fail('no timer was called'), 10_000)
      clock.after(5, () => {
        calls += 1
        clearTimeout(keepAlive)
        resolve()
      })
    })
    clock.advance(100)
    assert.equal(calls, 1)
    assert.equal(clock.nowMs(), 1100)
  })

  it('calls a due timer immediately when it is advanced, and no cancelled timer', async () => {
    const clock = neverStuck(movableClock())
    const called: string[] = []
    const cancel = clock.after(1, () => called.push('cancelled'))
    cancel()
    // Longer than the maximum delay of node, which would call it immediately.
    clock.after(3_000_000_000, () => called.push('far'))
    clock.after(3_600_000, () => called.push('near'))
    await sleep(20)
    assert.deepEqual(called, [])
    clock.advance(3_600_000)
    assert.deepEqual(called, ['near'])
  })

  it('does not call a timer again after its real delay', async () => {
    const clock = neverStuck(movableClock())
    let calls = 0
    clock.after(5, () => {
      calls += 1
    })
    clock.advance(5)
    await sleep(20)
    assert.equal(calls, 1)
  })
})
