import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  createHashingQueue,
  type HashingQueue,
  type Place,
} from '../../../src/adapters/bcrypt/hashing-queue.ts'
import { Unavailable } from '../../../src/domain/errors.ts'

/** All slots of the queue. */
function takeAll(places: HashingQueue): Place[] {
  const taken: Place[] = []
  assert.throws(() => {
    for (;;) taken.push(places.take())
  }, Unavailable)
  return taken
}

function howMany(places: HashingQueue): number {
  const taken = takeAll(places)
  for (const place of taken) place.leave()
  return taken.length
}

describe('Hashing slots', () => {
  it('are limited to two seconds of work of all threads', () => {
    assert.equal(howMany(createHashingQueue({ threads: 1, expectedMs: 200 })), 11)
    assert.equal(howMany(createHashingQueue({ threads: 2, expectedMs: 200 })), 21)
    assert.equal(howMany(createHashingQueue({ threads: 3, expectedMs: 200 })), 31)
    assert.equal(howMany(createHashingQueue({ threads: 2, expectedMs: 50 })), 81)
  })

  it('are always available when none is taken, however long the work takes', () => {
    const places = createHashingQueue({ threads: 1, expectedMs: 1_000_000 })
    const place = places.take()
    assert.throws(() => places.take(), Unavailable)
    place.leave()
    places.take()
  })

  it('are free once they are released, and only once', () => {
    const places = createHashingQueue({ threads: 1, expectedMs: 200 })
    const [first] = takeAll(places)
    assert.throws(() => places.take(), Unavailable)
    first?.leave()
    first?.leave()
    places.take()
    assert.throws(() => places.take(), Unavailable)
  })

  it('become fewer or more with how long the work takes: a tenth of what the newest one needed counts', () => {
    const places = createHashingQueue({ threads: 1, expectedMs: 100 })
    lasting(places, 300)
    // A mean of 120 ms.
    assert.equal(howMany(places), 17)
    for (let round = 0; round < 200; round++) lasting(places, 40)
    assert.equal(howMany(places), 50)
  })

  it('count all work of one place, of which some have more', () => {
    const places = createHashingQueue({ threads: 1, expectedMs: 100 })
    lasting(places, 100, 200)
    assert.equal(howMany(places), 17)
  })

  it('ignore slots that were released before a thread worked for them', () => {
    const places = createHashingQueue({ threads: 1, expectedMs: 100 })
    for (let round = 0; round < 100; round++) lasting(places)
    assert.equal(howMany(places), 21)
  })

  it('do not count a pause of the machine as work', () => {
    const places = createHashingQueue({ threads: 1, expectedMs: 100 })
    lasting(places, 3_600_000)
    assert.equal(howMany(places), 16)
  })
})

function lasting(places: HashingQueue, ...workedMs: readonly number[]): void {
  const place = places.take()
  for (const ms of workedMs) place.worked(ms)
  place.leave()
}
