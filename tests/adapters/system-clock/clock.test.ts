import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../src/adapters/system-clock/clock.ts'
import { clockContract } from '../../../src/testing/contracts/clock.ts'

clockContract('the system clock', () => ({ clock: systemClock, pass: (ms) => sleep(ms + 1) }))

describe('The system clock', () => {
  it('calls once, and never early', async () => {
    const calls: { readonly ms: number; readonly earlyMs: number }[] = []
    // Timers fire early mostly for fractions of a millisecond.
    const waits = Array.from({ length: 200 }, (_, index) => index * 0.37)
    await Promise.all(
      waits.map(
        (ms) =>
          new Promise<void>((resolve) => {
            const atMs = systemClock.monotonicMs() + ms
            systemClock.after(ms, () => {
              calls.push({ ms, earlyMs: atMs - systemClock.monotonicMs() })
              resolve()
            })
          }),
      ),
    )
    await sleep(5)
    assert.equal(calls.length, waits.length)
    for (const { ms, earlyMs } of calls) assert.ok(earlyMs <= 0, `${earlyMs} ms early after ${ms}`)
  })
})
