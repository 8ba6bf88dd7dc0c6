import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { wait } from '../../src/lib/wait.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { countedTimers } from '../support/fakes.ts'

describe('A wait', () => {
  it('ends when its time has elapsed', async () => {
    const clock = movableClock()
    const { signal } = new AbortController()
    let result: boolean | null = null
    const paused = wait(100, clock, signal).then((woken) => {
      result = woken
    })
    clock.advance(99)
    await Promise.resolve()
    assert.equal(result, null)
    clock.advance(1)
    await paused
    assert.equal(result, false)
  })

  it('ends when it is woken and leaves its queue', async () => {
    const clock = movableClock()
    const queue = new Set<() => void>()
    const paused = wait(100, clock, new AbortController().signal, (wake) => {
      queue.add(wake)
      return () => queue.delete(wake)
    })
    for (const wake of queue) wake()
    assert.equal(await paused, true)
    assert.equal(queue.size, 0)
  })

  for (const when of ['before', 'while'] as const) {
    it(`rejects with the signal's reason when that aborts ${when} it waits, and leaves its queue`, async () => {
      const gone = new AbortController()
      const reason = new Error('gone')
      const queue = new Set<() => void>()
      if (when === 'before') gone.abort(reason)
      const paused = wait(100, movableClock(), gone.signal, (wake) => {
        queue.add(wake)
        return () => queue.delete(wake)
      })
      gone.abort(reason)
      await assert.rejects(paused, reason)
      assert.equal(queue.size, 0)
    })
  }

  it('leaves no timer and no listener behind', async () => {
    for (const end of ['woken', 'gone', 'over'] as const) {
      const clock = countedTimers(movableClock())
      let listeners = 0
      let abort = () => {}
      const signal = {
        aborted: false,
        reason: new Error('gone'),
        addEventListener(_: 'abort', listener: () => void) {
          listeners += 1
          abort = listener
        },
        removeEventListener(_: 'abort', listener: () => void) {
          if (listener === abort) listeners -= 1
        },
      }
      const paused = wait(100, clock, signal, (wake) => {
        if (end === 'woken') queueMicrotask(wake)
        return () => {}
      }).catch(() => 'gone')
      if (end === 'gone') abort()
      if (end === 'over') clock.advance(100)
      await paused
      assert.deepEqual([clock.timers(), listeners], [0, 0], end)
    }
  })
})
