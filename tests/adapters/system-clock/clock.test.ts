import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../src/adapters/system-clock/clock.ts'

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

  it('calls asynchronously what is due at once', async () => {
    let isCalled = false
    systemClock.after(-10, () => {
      isCalled = true
    })
    assert.equal(isCalled, false)
    await sleep(10)
    assert.equal(isCalled, true)
  })

  it('does not call after cancellation', async () => {
    systemClock.after(5, () => assert.fail('called'))()
    await sleep(15)
  })
})
