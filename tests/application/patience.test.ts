import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { STORE_WAIT_MS } from '../../src/application/latchkey.ts'
import { patienceOf } from '../../src/application/patience.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { memoryCore } from '../support/core.ts'

describe('Patience', () => {
  const clock = movableClock()
  const taking = (ms: number) => async (waitMs: number) => {
    clock.advance(ms)
    return waitMs
  }

  it('gives each call what the calls before it left', async () => {
    const patience = patienceOf(1000, clock)
    assert.equal(await patience.wait(taking(0)), 1000)
    assert.equal(await patience.wait(taking(300)), 1000)
    assert.equal(await patience.wait(taking(699)), 700)
    assert.equal(await patience.wait(taking(1)), 1)
    await assert.rejects(patience.wait(taking(0)), Unavailable)
  })

  it('that is used up calls nothing any more', async () => {
    const patience = patienceOf(1000, clock)
    await patience.wait(taking(5000))
    let calls = 0
    await assert.rejects(
      patience.wait(async () => {
        calls += 1
      }),
      Unavailable,
    )
    assert.equal(calls, 0)
  })

  it('is spent by calls that fail too, and passes their errors on', async () => {
    const patience = patienceOf(1000, clock)
    const failure = new Error('failed')
    await assert.rejects(
      patience.wait(async () => {
        clock.advance(600)
        throw failure
      }),
      failure,
    )
    assert.equal(await patience.wait(taking(0)), 400)
  })

  it('is not spent between calls, nor by setting the wall clock', async () => {
    const patience = patienceOf(1000, clock)
    await patience.wait(taking(100))
    clock.advance(10_000)
    await patience.wait(async () => clock.setWall(50_000))
    await patience.wait(async () => clock.setWall(-90_000))
    assert.equal(await patience.wait(taking(0)), 900)
  })

  it('is a request’s own: one second each', async () => {
    const core = memoryCore()
    const first = core.patience()
    await first.wait(async () => core.clock.advance(5000))
    assert.equal(STORE_WAIT_MS, 1000)
    assert.equal(await core.patience().wait(async (waitMs) => waitMs), 1000)
  })
})
