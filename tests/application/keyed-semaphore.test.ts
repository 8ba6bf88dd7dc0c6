import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createKeyedSemaphore } from '../../src/application/keyed-semaphore.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { turn } from '../support/fakes.ts'

const here = new AbortController().signal

describe('A keyed semaphore', () => {
  it('acquires a free slot immediately', async () => {
    const semaphore = createKeyedSemaphore(2, movableClock())
    await semaphore.acquire('a', here)
    await semaphore.acquire('a', here)
    await semaphore.acquire('b', here)
  })

  it('serves waiting callers in order', async () => {
    const semaphore = createKeyedSemaphore(1, movableClock())
    const order: number[] = []
    const release = await semaphore.acquire('a', here)
    const others = [1, 2, 3].map(async (n) => {
      const releaseNext = await semaphore.acquire('a', here)
      order.push(n)
      releaseNext()
    })
    await turn()
    assert.deepEqual(order, [])
    release()
    await Promise.all(others)
    assert.deepEqual(order, [1, 2, 3])
  })

  it('never exceeds the limit of concurrent slots', async () => {
    const semaphore = createKeyedSemaphore(3, movableClock())
    let taken = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const release = await semaphore.acquire('a', here)
        most = Math.max(most, ++taken)
        await turn()
        taken -= 1
        release()
      }),
    )
    assert.equal(most, 3)
    const releases = await Promise.all([1, 2, 3].map(() => semaphore.acquire('a', here)))
    assert.equal(releases.length, 3)
  })

  it('is unavailable after a wait of two seconds', async () => {
    const clock = movableClock()
    const semaphore = createKeyedSemaphore(1, clock)
    const release = await semaphore.acquire('a', here)
    const late = semaphore.acquire('a', here)
    clock.advance(2000)
    await assert.rejects(late, Unavailable)
    // A released slot is not given to a caller that timed out.
    release()
    await semaphore.acquire('a', here)
  })

  it('stops waiting when the signal aborts', async () => {
    const semaphore = createKeyedSemaphore(1, movableClock())
    const release = await semaphore.acquire('a', here)
    const gone = new AbortController()
    const left = semaphore.acquire('a', gone.signal)
    const next = semaphore.acquire('a', here)
    gone.abort(new Error('gone'))
    await assert.rejects(left, /gone/)
    release()
    await next
  })
})
