import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryInvalidations, timedInvalidations } from '../../../src/adapters/memory/invalidations.ts'
import { invalidationsContract } from '../../../src/testing/contracts/invalidations.ts'

invalidationsContract('the memory', async () => memoryInvalidations())

describe('invalidations within one process', () => {
  /** What was waited for, each wait over at once. */
  const waitsFor = async (lifetimeMs: number) => {
    const waits: number[] = []
    const clock = {
      after(ms: number, call: () => void) {
        waits.push(ms)
        queueMicrotask(call)
        return () => {}
      },
    }
    const { publish, isCurrent } = timedInvalidations(clock, lifetimeMs)
    assert.equal(isCurrent(), false)
    await publish({ kind: 'everything' })
    return waits
  }

  test('are acknowledged when every entry that another process may have cached has expired', async () => {
    assert.deepEqual(await waitsFor(61_000), [61_000])
    assert.deepEqual(await waitsFor(0), [])
  })

  test('wait in steps that a timer can take', async () => {
    const waits = await waitsFor(30.5 * 86_400_000)
    assert.equal(
      waits.reduce((sum, ms) => sum + ms),
      30.5 * 86_400_000,
    )
    assert.ok(Math.max(...waits) < 2 ** 31)
  })
})
