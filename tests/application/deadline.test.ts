import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createDeadline } from '../../src/application/deadline.ts'
import { STORE_TIMEOUT_MS } from '../../src/application/use-cases/use-cases.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { memoryCore } from '../support/core.ts'

describe('A deadline', () => {
  const clock = movableClock()
  const taking = (ms: number) => async (timeoutMs: number) => {
    clock.advance(ms)
    return timeoutMs
  }

  it('gives each call the time that earlier calls left', async () => {
    const deadline = createDeadline(1000, clock)
    assert.equal(await deadline.run(taking(0)), 1000)
    assert.equal(await deadline.run(taking(300)), 1000)
    assert.equal(await deadline.run(taking(699)), 700)
    assert.equal(await deadline.run(taking(1)), 1)
    await assert.rejects(deadline.run(taking(0)), Unavailable)
  })

  it('calls nothing once the time is used up', async () => {
    const deadline = createDeadline(1000, clock)
    await deadline.run(taking(5000))
    let calls = 0
    await assert.rejects(
      deadline.run(async () => {
        calls += 1
      }),
      Unavailable,
    )
    assert.equal(calls, 0)
  })

  it('counts failed calls and passes their errors on', async () => {
    const deadline = createDeadline(1000, clock)
    const failure = new Error('failed')
    await assert.rejects(
      deadline.run(async () => {
        clock.advance(600)
        throw failure
      }),
      failure,
    )
    assert.equal(await deadline.run(taking(0)), 400)
  })

  it('does not count time between calls or changes of the wall clock', async () => {
    const deadline = createDeadline(1000, clock)
    await deadline.run(taking(100))
    clock.advance(10_000)
    await deadline.run(async () => clock.setWall(50_000))
    await deadline.run(async () => clock.setWall(-90_000))
    assert.equal(await deadline.run(taking(0)), 900)
  })

  it('gives each request its own second', async () => {
    const core = memoryCore()
    const first = core.deadline()
    await first.run(async () => core.clock.advance(5000))
    assert.equal(STORE_TIMEOUT_MS, 1000)
    assert.equal(await core.deadline().run(async (timeoutMs) => timeoutMs), 1000)
  })
})
