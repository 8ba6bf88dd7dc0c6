import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  createHashingQueue,
  type HashingQueue,
  type QueueSlot,
} from '../../../src/adapters/bcrypt/hashing-queue.ts'
import { Unavailable } from '../../../src/domain/errors.ts'

/** All slots of the queue. */
function takeAll(slots: HashingQueue): QueueSlot[] {
  const taken: QueueSlot[] = []
  assert.throws(() => {
    for (;;) taken.push(slots.take())
  }, Unavailable)
  return taken
}

function howMany(slots: HashingQueue): number {
  const taken = takeAll(slots)
  for (const slot of taken) slot.leave()
  return taken.length
}

describe('Hashing slots', () => {
  it('are limited to two seconds of work of all threads', () => {
    assert.equal(howMany(createHashingQueue({ threads: 1, expectedMs: 200 })), 11)
    assert.equal(howMany(createHashingQueue({ threads: 2, expectedMs: 200 })), 21)
    assert.equal(howMany(createHashingQueue({ threads: 3, expectedMs: 200 })), 31)
    assert.equal(howMany(createHashingQueue({ threads: 2, expectedMs: 50 })), 81)
  })

  it('are always available when none is acquired, even if the work is slow', () => {
    const slots = createHashingQueue({ threads: 1, expectedMs: 1_000_000 })
    const slot = slots.take()
    assert.throws(() => slots.take(), Unavailable)
    slot.leave()
    slots.take()
  })

  it('are released once, although they are released twice', () => {
    const slots = createHashingQueue({ threads: 1, expectedMs: 200 })
    const [first] = takeAll(slots)
    assert.throws(() => slots.take(), Unavailable)
    first?.leave()
    first?.leave()
    slots.take()
    assert.throws(() => slots.take(), Unavailable)
  })

  it('follow the moving average of the work, in which the newest sample has a weight of a tenth', () => {
    const slots = createHashingQueue({ threads: 1, expectedMs: 100 })
    lasting(slots, 300)
    // A mean of 120 ms.
    assert.equal(howMany(slots), 17)
    for (let round = 0; round < 200; round++) lasting(slots, 40)
    assert.equal(howMany(slots), 50)
  })

  it('count all work of one slot as one sample', () => {
    const slots = createHashingQueue({ threads: 1, expectedMs: 100 })
    lasting(slots, 100, 200)
    assert.equal(howMany(slots), 17)
  })

  it('ignore slots that were released before a thread worked for them', () => {
    const slots = createHashingQueue({ threads: 1, expectedMs: 100 })
    for (let round = 0; round < 100; round++) lasting(slots)
    assert.equal(howMany(slots), 21)
  })

  it('do not count a pause of the machine as work', () => {
    const slots = createHashingQueue({ threads: 1, expectedMs: 100 })
    lasting(slots, 3_600_000)
    assert.equal(howMany(slots), 16)
  })
})

function lasting(slots: HashingQueue, ...workedMs: readonly number[]): void {
  const slot = slots.take()
  for (const ms of workedMs) slot.worked(ms)
  slot.leave()
}
