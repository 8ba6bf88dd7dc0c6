import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createKeyedSemaphore } from '../../src/application/keyed-semaphore.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { turn } from '../support/fakes.ts'

const here = new AbortController().signal

describe('Turns', () => {
  it('are had at once while there are any', async () => {
    const semaphore = createKeyedSemaphore(2, movableClock())
    await semaphore.acquire('a', here)
    await semaphore.acquire('a', here)
    await semaphore.acquire('b', here)
  })

  it('are handed on in the order in which they were asked for', async () => {
    const semaphore = createKeyedSemaphore(1, movableClock())
    const order: number[] = []
    const end = await semaphore.acquire('a', here)
    const others = [1, 2, 3].map(async (n) => {
      const endOwn = await semaphore.acquire('a', here)
      order.push(n)
      endOwn()
    })
    await turn()
    assert.deepEqual(order, [])
    end()
    await Promise.all(others)
    assert.deepEqual(order, [1, 2, 3])
  })

  it('are never more than so many at once, however they end', async () => {
    const semaphore = createKeyedSemaphore(3, movableClock())
    let taken = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const end = await semaphore.acquire('a', here)
        most = Math.max(most, ++taken)
        await turn()
        taken -= 1
        end()
      }),
    )
    assert.equal(most, 3)
    const ends = await Promise.all([1, 2, 3].map(() => semaphore.acquire('a', here)))
    assert.equal(ends.length, 3)
  })

  it('are waited for two seconds, and then are unavailable', async () => {
    const clock = movableClock()
    const semaphore = createKeyedSemaphore(1, clock)
    const end = await semaphore.acquire('a', here)
    const late = semaphore.acquire('a', here)
    clock.advance(2000)
    await assert.rejects(late, Unavailable)
    // Nothing is handed to somebody who has left.
    end()
    await semaphore.acquire('a', here)
  })

  it('are not waited for by who goes away', async () => {
    const semaphore = createKeyedSemaphore(1, movableClock())
    const end = await semaphore.acquire('a', here)
    const gone = new AbortController()
    const left = semaphore.acquire('a', gone.signal)
    const next = semaphore.acquire('a', here)
    gone.abort(new Error('gone'))
    await assert.rejects(left, /gone/)
    end()
    await next
  })
})
