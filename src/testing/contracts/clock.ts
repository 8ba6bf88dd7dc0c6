import assert from 'node:assert/strict'
import type { Clock } from '../../lib/clock.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

/** A clock, and a function that resolves once at least `ms` milliseconds have passed on it. */
export interface PassingClock {
  readonly clock: Clock
  pass(ms: number): Promise<void>
}

/**
 * The contract of `Clock`: the monotonic clock never goes backwards, and a timer calls once, in a later task, never early,
 * and not after it was cancelled. `create` is called for each test. Takes 0.2 s on a clock that follows the machine's.
 */
export function clockContract(name: string, create: () => PassingClock, runner?: TestRunner): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of Clock:`, () => {
    it('both clocks advance, and the monotonic one never goes backwards', async () => {
      const { clock, pass } = create()
      const [wallMs, firstMs] = [clock.nowMs(), clock.monotonicMs()]
      let lastMs = firstMs
      for (let reading = 0; reading < 10_000; reading++) {
        const nowMs = clock.monotonicMs()
        assert.ok(nowMs >= lastMs, `${nowMs} after ${lastMs}`)
        lastMs = nowMs
      }
      await pass(20)
      assert.ok(clock.monotonicMs() - firstMs >= 20, 'the monotonic clock did not advance by 20 ms')
      // The resolution of a wall clock is a millisecond.
      assert.ok(clock.nowMs() - wallMs >= 19, 'the wall clock did not advance by 20 ms')
    })

    it('a timer calls once and never early', async () => {
      const { clock, pass } = create()
      const calls: { readonly ms: number; readonly earlyMs: number }[] = []
      for (const ms of [0, 0.4, 1, 5, 10.7, 20]) {
        const dueMs = clock.monotonicMs() + ms
        clock.after(ms, () => calls.push({ ms, earlyMs: dueMs - clock.monotonicMs() }))
      }
      for (let step = 0; step < 25; step++) await pass(1)
      assert.deepEqual(
        calls.map(({ ms }) => ms).toSorted((a, b) => a - b),
        [0, 0.4, 1, 5, 10.7, 20],
      )
      for (const { ms, earlyMs } of calls) assert.ok(earlyMs <= 0, `${earlyMs} ms early after ${ms} ms`)
    })

    it('a timer that is due already does not call within `after`', async () => {
      const { clock, pass } = create()
      let calls = 0
      for (const ms of [0, -10]) clock.after(ms, () => calls++)
      assert.equal(calls, 0)
      for (let step = 0; step < 4; step++) await pass(5)
      assert.equal(calls, 2)
    })

    it('a cancelled timer does not call, and the others do', async () => {
      const { clock, pass } = create()
      const called: string[] = []
      const cancel = clock.after(5, () => called.push('cancelled'))
      clock.after(5, () => called.push('other'))
      cancel()
      for (let step = 0; step < 4; step++) await pass(5)
      cancel()
      assert.deepEqual(called, ['other'])
    })
  })
}
