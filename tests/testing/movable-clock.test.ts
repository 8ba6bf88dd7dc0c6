import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { movableClock, neverStuck } from '../../src/testing/movable-clock.ts'

describe('A clock that is moved', () => {
  it('stands still, and calls what is due when it is moved so far, once', () => {
    const clock = movableClock(1000)
    let calls = 0
    clock.after(10, () => {
      calls += 1
    })
    const callOff = clock.after(10, () => assert.fail('was called off'))
    callOff()
    assert.equal(clock.nowMs(), 1000)
    clock.advance(9)
    assert.equal(calls, 0)
    clock.advance(1)
    clock.advance(10)
    assert.equal(calls, 1)
    assert.equal(clock.nowMs(), 1020)
  })

  it('goes back on the wall alone', () => {
    const clock = movableClock(1000)
    const before = clock.monotonicMs()
    clock.setWall(-500)
    assert.deepEqual([clock.nowMs(), clock.monotonicMs()], [500, before])
  })
})

describe('A clock that nobody is stuck on', () => {
  it('calls what has really waited so long, though it was not moved, and only once', async () => {
    const clock = neverStuck(movableClock(1000))
    let calls = 0
    await new Promise<void>((resolve) => {
      // The process waits for what is on the clock alone, which does not keep it.
      const keeping = setTimeout(() => assert.fail('nothing was called'), 10_000)
      clock.after(5, () => {
        calls += 1
        clearTimeout(keeping)
        resolve()
      })
    })
    clock.advance(100)
    assert.equal(calls, 1)
    assert.equal(clock.nowMs(), 1100)
  })

  it('calls what is due when it is moved, without waiting, and not what was called off', async () => {
    const clock = neverStuck(movableClock())
    const called: string[] = []
    const callOff = clock.after(1, () => called.push('called off'))
    callOff()
    // Longer than node can wait, which would call at once.
    clock.after(3_000_000_000, () => called.push('far'))
    clock.after(3_600_000, () => called.push('near'))
    await sleep(20)
    assert.deepEqual(called, [])
    clock.advance(3_600_000)
    assert.deepEqual(called, ['near'])
  })

  it('calls once what is due when it is moved, and would have waited so long by now', async () => {
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
