import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HashingQueue } from '../../../src/adapters/bcrypt/hashing-queue.ts'
import type { QueueSlot } from '../../../src/adapters/bcrypt/queue-entry.ts'
import type { HashingRequest } from '../../../src/application/ports/password-hasher.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { deferred, turn } from '../../support/fakes.ts'
import { aHashingRequest } from '../../support/idle-ports.ts'

/** Takes all slots of the queue, for one source. */
function takeAll(queue: HashingQueue, different: Partial<HashingRequest> = {}): QueueSlot[] {
  const taken: QueueSlot[] = []
  assert.throws(() => {
    for (;;) taken.push(queue.take(aHashingRequest(different)))
  }, Unavailable)
  return taken
}

function howMany(queue: HashingQueue): number {
  const taken = takeAll(queue)
  for (const slot of taken) slot.leave()
  return taken.length
}

describe('The slots of the hashing queue', () => {
  it('are limited to two seconds of work of all threads', () => {
    assert.equal(howMany(new HashingQueue({ threads: 1, expectedMs: 200 })), 11)
    assert.equal(howMany(new HashingQueue({ threads: 2, expectedMs: 200 })), 21)
    assert.equal(howMany(new HashingQueue({ threads: 3, expectedMs: 200 })), 31)
    assert.equal(howMany(new HashingQueue({ threads: 2, expectedMs: 50 })), 81)
  })

  it('are always available to eight waiting logins, even if the work is slow', async () => {
    const queue = new HashingQueue({ threads: 1, expectedMs: 1_000_000 })
    const slot = queue.take(aHashingRequest())
    const work = deferred<void>()
    const working = slot.run(() => work.promise)
    assert.equal(takeAll(queue).length, 8)
    work.resolve()
    await working
  })

  it('are released once, although they are released twice', () => {
    const queue = new HashingQueue({ threads: 1, expectedMs: 200 })
    const [first] = takeAll(queue)
    first?.leave()
    first?.leave()
    queue.take(aHashingRequest())
    assert.throws(() => queue.take(aHashingRequest()), Unavailable)
  })

  it('follow the moving average of the work, in which the newest sample has a weight of a tenth', async (t) => {
    const queue = new HashingQueue({ threads: 1, expectedMs: 100 })
    const last = lasting(t, queue)
    await last(300)
    // A mean of 120 ms.
    assert.equal(howMany(queue), 17)
    for (let round = 0; round < 200; round++) await last(40)
    assert.equal(howMany(queue), 50)
  })

  it('count all work of one slot as one sample', async (t) => {
    const queue = new HashingQueue({ threads: 1, expectedMs: 100 })
    await lasting(t, queue)(100, 200)
    assert.equal(howMany(queue), 17)
  })

  it('ignore slots that were released before a thread worked for them', async (t) => {
    const queue = new HashingQueue({ threads: 1, expectedMs: 100 })
    for (let round = 0; round < 100; round++) await lasting(t, queue)()
    assert.equal(howMany(queue), 21)
  })

  it('do not count a pause of the machine as work', async (t) => {
    const queue = new HashingQueue({ threads: 1, expectedMs: 100 })
    await lasting(t, queue)(3_600_000)
    assert.equal(howMany(queue), 16)
  })
})

describe('A full hashing queue', () => {
  const slow = () => new HashingQueue({ threads: 1, expectedMs: 200 })

  it('rejects the newest slot of the source that holds the most, not the one that arrives', async () => {
    const queue = slow()
    const held = takeAll(queue, { source: 'a' })
    const arriving = queue.take(aHashingRequest({ source: 'b' }))
    assert.equal(await arriving.run(async () => 'done'), 'done')
    await assert.rejects(held.at(-1)?.run(async () => 'done') ?? assert.fail(), Unavailable)
    assert.equal(await held.at(-2)?.run(async () => 'done'), 'done')
  })

  it('rejects work that waits for a thread', async () => {
    const queue = slow()
    const held = takeAll(queue, { source: 'a' })
    const block = deferred<void>()
    const [first, ...pending] = held.map((slot) => slot.run(() => block.promise))
    queue.take(aHashingRequest({ source: 'b' }))
    await assert.rejects(pending.at(-1) ?? assert.fail(), Unavailable)
    assert.deepEqual(queue.load(), { running: 1, waiting: pending.length - 1 })
    block.resolve()
    await Promise.all([first, ...pending.slice(0, -1)])
    assert.deepEqual(queue.load(), { running: 0, waiting: 0 })
  })

  it('does not reject a slot whose work has begun, nor work without a slot', async () => {
    const queue = slow()
    const own = Array.from({ length: 20 }, () => queue.run(async () => 'hash'))
    const begun = queue.take(aHashingRequest({ source: 'a' }))
    await begun.run(async () => {})
    const held = takeAll(queue, { source: 'a' })
    for (let i = 0; i < held.length - 1; i++) queue.take(aHashingRequest({ source: `b${i}` }))
    assert.equal(await begun.run(async () => 'more'), 'more')
    assert.deepEqual(new Set(await Promise.all(own)), new Set(['hash']))
  })

  it('rejects the newest of the account that holds the most behind an address', async () => {
    const queue = slow()
    const colleague = queue.take(aHashingRequest({ source: 'a', account: 'colleague' }))
    const held = takeAll(queue, { source: 'a', account: 'attacker' })
    const another = queue.take(aHashingRequest({ source: 'a', account: 'another' }))
    for (const slot of [colleague, another]) assert.equal(await slot.run(async () => 'done'), 'done')
    await assert.rejects(held.at(-1)?.run(async () => 'done') ?? assert.fail(), Unavailable)
  })

  it('finds room for three known colleagues while every other source holds one slot', async () => {
    const queue = slow()
    const others = Array.from({ length: 11 }, (_, i) => queue.take(aHashingRequest({ source: `b${i}` })))
    const colleagues = ['ana', 'bea', 'cem'].map((account) =>
      queue.take(aHashingRequest({ source: 'a', account, isKnown: true })),
    )
    for (const slot of colleagues) assert.equal(await slot.run(async () => 'done'), 'done')
    const rejected = await Promise.allSettled(others.map((slot) => slot.run(async () => {})))
    assert.equal(rejected.filter(({ status }) => status === 'rejected').length, 3)
    assert.throws(() => {
      for (;;) queue.take(aHashingRequest({ source: 'a', account: 'ana', isKnown: true }))
    }, Unavailable)
  })

  it('says without a change whether it has room', () => {
    const queue = slow()
    assert.equal(queue.hasRoom(aHashingRequest({ source: 'a' })), true)
    takeAll(queue, { source: 'a' })
    for (let round = 0; round < 3; round++) {
      assert.equal(queue.hasRoom(aHashingRequest({ source: 'a' })), false)
      assert.equal(queue.hasRoom(aHashingRequest({ source: 'b' })), true)
    }
    queue.take(aHashingRequest({ source: 'b' }))
  })
})

describe('The order of the hashing queue', () => {
  /** Returns the names of requests in the order in which one thread works for them. */
  async function served(
    requests: Readonly<Record<string, Partial<HashingRequest>>>,
    later: Readonly<Record<string, Partial<HashingRequest>>> = {},
  ): Promise<string> {
    const queue = new HashingQueue({ threads: 1, expectedMs: 1 })
    const names: string[] = []
    const add = (list: typeof requests) =>
      Object.entries(list).map(([name, different]) =>
        queue.take(aHashingRequest(different)).run(async () => {
          names.push(name)
          if (names.length === 2) pending.push(...add(later))
          await turn()
        }),
      )
    const block = deferred<void>()
    const blocked = queue.run(() => block.promise)
    const pending = add(requests)
    block.resolve()
    await blocked
    for (let done = 0; done < pending.length; done++) await pending[done]
    return names.join(' ')
  }
  const from = (source: string, account = 'x', isKnown = false) => ({ source, account, isKnown })

  it('is round-robin by source', async () => {
    const requests = {
      a1: from('a'),
      a2: from('a'),
      a3: from('a'),
      b1: from('b'),
      b2: from('b'),
      c1: from('c'),
    }
    assert.equal(await served(requests), 'a1 b1 c1 a2 b2 a3')
  })

  it('is round-robin by account within a source', async () => {
    const requests = { a1: from('a', 'x'), a2: from('a', 'x'), a3: from('a', 'y'), b1: from('b', 'x') }
    assert.equal(await served(requests), 'a1 b1 a3 a2')
  })

  it('puts a known account first at an equal turn, but never ahead of a turn', async () => {
    const requests = { a1: from('a'), b1: from('b', 'x', true), b2: from('b', 'x', true), c1: from('c') }
    assert.equal(await served(requests), 'b1 a1 c1 b2')
  })

  it('puts a source that arrives into the next round, so that new sources starve no other', async () => {
    const requests = { a1: from('a'), a2: from('a'), b1: from('b') }
    assert.equal(await served(requests, { c1: from('c'), d1: from('d', 'x', true) }), 'a1 b1 d1 a2 c1')
  })

  it('gives work that has begun the next thread', async () => {
    const queue = new HashingQueue({ threads: 1, expectedMs: 1 })
    const names: string[] = []
    const first = queue.take(aHashingRequest())
    const verification = deferred<void>()
    const verified = first.run(() => verification.promise)
    const second = queue.take(aHashingRequest()).run(async () => names.push('second'))
    const rehashed = first.run(async () => names.push('rehash'))
    verification.resolve()
    await Promise.all([verified, second, rehashed])
    assert.deepEqual(names, ['rehash', 'second'])
  })

  it('does the work of a slot that was released meanwhile', async () => {
    const queue = new HashingQueue({ threads: 1, expectedMs: 1 })
    const block = deferred<void>()
    const blocked = queue.run(() => block.promise)
    const slot = queue.take(aHashingRequest())
    const work = slot.run(async () => 'done')
    slot.leave()
    block.resolve()
    await blocked
    assert.equal(await work, 'done')
    assert.equal(await slot.run(async () => 'later'), 'later')
  })
})

/** Returns a function that uses a slot for work of these durations. */
function lasting(t: { mock: { method: typeof import('node:test').mock.method } }, queue: HashingQueue) {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  return async (...durationsMs: readonly number[]) => {
    const slot = queue.take(aHashingRequest())
    for (const ms of durationsMs) {
      await slot.run(async () => {
        nowMs += ms
      })
    }
    slot.leave()
  }
}
