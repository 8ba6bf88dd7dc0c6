import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { protocolInstance } from '../../../../src/adapters/postgres/revocation/instance.ts'
import { LEASE_MS } from '../../../../src/adapters/postgres/revocation/lease.ts'
import type { Instance } from '../../../../src/adapters/postgres/revocation/protocol.ts'
import type { TriggerState } from '../../../../src/adapters/postgres/revocation/trigger-state.ts'
import type { Invalidation } from '../../../../src/application/ports/invalidations.ts'
import { type MovableClock, movableClock } from '../../../../src/testing/movable-clock.ts'
import { turn } from '../../../support/fakes.ts'

const HELD_MS = 800
const EVERYTHING: Invalidation = { kind: 'everything' }
const INTACT: TriggerState = { fingerprint: 'intact', problems: [] }

describe('An instance', () => {
  let clock: MovableClock
  /** The messages that it sent and the invalidations that it applied, in order. */
  let story: (string | Invalidation)[]
  let warnings: string[]
  let instance: Instance

  beforeEach(() => {
    clock = movableClock()
    story = []
    warnings = []
    instance = protocolInstance({
      name: 'me',
      clock,
      send: (payload) => story.push(payload),
      apply: (invalidation) => story.push(invalidation),
      warn: (payload) => warnings.push(payload),
    })
  })

  /** The statement of a payload has committed, and its notification has arrived. */
  function comeBack(payload: string, triggers: TriggerState = INTACT): void {
    instance.published(payload, triggers)
    instance.received(payload)
  }

  /** Connects for long enough to have received a heartbeat of every other instance that holds a lease. */
  function connectForLong(): void {
    instance.connected()
    instance.published('1 beat me 1', INTACT)
    clock.advance(LEASE_MS)
  }

  /** The messages that it sent and the invalidations that it applied as a result. */
  function storyOf(doing: () => void): (string | Invalidation)[] {
    const earlier = story.length
    doing()
    return story.slice(earlier)
  }

  it('sends a heartbeat when it is connected, clears the cache when that is published, and then gets its lease', () => {
    assert.deepEqual(
      storyOf(() => instance.connected()),
      ['1 beat me 1'],
    )
    assert.deepEqual(
      storyOf(() => instance.published('1 beat me 1', INTACT)),
      [EVERYTHING],
    )
    assert.equal(instance.holdsLease(), false)
    instance.received('1 beat me 1')
    assert.equal(instance.holdsLease(), true)
  })

  it('takes no lease from a heartbeat whose statement has no result yet', () => {
    instance.connected()
    instance.received('1 beat me 1')
    assert.equal(instance.holdsLease(), false)
    instance.published('1 beat me 1', INTACT)
    assert.equal(instance.holdsLease(), true)
  })

  for (const [change, triggers] of [
    ['were disabled', { fingerprint: 'disabled', problems: ['They are disabled.'] }],
    ['were replaced', { fingerprint: 'replaced', problems: [] }],
  ] as const) {
    it(`clears the cache and ends its lease when the triggers ${change}`, () => {
      instance.connected()
      comeBack('1 beat me 1')
      instance.beat()
      assert.deepEqual(
        storyOf(() => instance.published('1 beat me 2', triggers)),
        [EVERYTHING],
      )
      assert.equal(instance.holdsLease(), false)
      instance.received('1 beat me 2')
      assert.equal(instance.holdsLease(), triggers.problems.length === 0)
      instance.beat()
      assert.deepEqual(
        storyOf(() => comeBack('1 beat me 3', triggers)),
        [],
      )
      assert.equal(instance.holdsLease(), triggers.problems.length === 0)
    })

    it(`waits a whole lease without a request when the triggers ${change}`, async () => {
      connectForLong()
      let settled = 0
      void instance.settled().then(() => settled++)
      instance.published('1 ask me 1', triggers)
      instance.received('1 ask me 1')
      const said = storyOf(() => {
        void instance.settled().then(() => settled++)
      })
      assert.deepEqual(said, [])
      clock.advance(LEASE_MS - 1)
      await turn()
      assert.equal(settled, 0)
      clock.advance(1)
      await turn()
      assert.equal(settled, 2)
    })
  }

  it('holds a lease from the time when the returned heartbeat was sent', () => {
    instance.connected()
    clock.advance(600)
    comeBack('1 beat me 1')
    assert.equal(instance.holdsLease(), true)
    clock.advance(HELD_MS - 600)
    assert.equal(instance.holdsLease(), false)
  })

  it('takes no lease from a heartbeat of another, nor twice from its own', () => {
    instance.connected()
    instance.received('1 beat you 1')
    assert.equal(instance.holdsLease(), false)
    comeBack('1 beat me 1')
    clock.advance(LEASE_MS)
    comeBack('1 beat me 1')
    assert.equal(instance.holdsLease(), false)
  })

  it('does not shorten its lease for an earlier heartbeat that returns late', () => {
    instance.connected()
    clock.advance(250)
    instance.beat()
    comeBack('1 beat me 2')
    comeBack('1 beat me 1')
    clock.advance(HELD_MS - 1)
    assert.equal(instance.holdsLease(), true)
  })

  it('sends nothing and applies nothing while it is not connected', () => {
    const doing = () => {
      instance.beat()
      instance.received('1 forget')
      instance.received('1 ask you 1')
      instance.received('2 whatever')
    }
    assert.deepEqual(storyOf(doing), [])
    instance.connected()
    instance.disconnected()
    assert.deepEqual(storyOf(doing), [])
    assert.deepEqual(warnings, [])
  })

  it('loses the lease with the connection, and no earlier heartbeat grants one', () => {
    instance.connected()
    comeBack('1 beat me 1')
    instance.beat()
    instance.disconnected()
    assert.equal(instance.holdsLease(), false)
    comeBack('1 beat me 2')
    assert.equal(instance.holdsLease(), false)
    instance.connected()
    comeBack('1 beat me 2')
    assert.equal(instance.holdsLease(), false)
    comeBack('1 beat me 3')
    assert.equal(instance.holdsLease(), true)
  })

  it('applies invalidations in order and acknowledges a request after them', () => {
    instance.connected()
    const doing = () => {
      instance.received('1 digests d1 d2')
      instance.received('1 customers c1')
      instance.received('1 forget')
      instance.received('1 ask you 5')
    }
    assert.deepEqual(storyOf(doing), [
      { kind: 'digest', digest: 'd1' },
      { kind: 'digest', digest: 'd2' },
      { kind: 'customer', customerId: 'c1' },
      EVERYTHING,
      '1 seen me you 5',
    ])
  })

  it('acknowledges requests without a lease too', () => {
    instance.connected()
    assert.equal(instance.holdsLease(), false)
    assert.deepEqual(
      storyOf(() => instance.received('1 ask you 1')),
      ['1 seen me you 1'],
    )
  })

  for (const receive of ['received', 'receivedInPublic'] as const) {
    it(`clears the cache and keeps its lease after a message that it cannot decode (${receive})`, () => {
      instance.connected()
      comeBack('1 beat me 1')
      for (const payload of ['3 digests d1', '', 'hello', '1 unknown x'])
        assert.deepEqual(
          storyOf(() => instance[receive](payload)),
          [EVERYTHING],
        )
      assert.equal(warnings.length, 4)
      assert.equal(instance.holdsLease(), true)
    })

    it(`waits a whole lease after a message that it cannot decode (${receive})`, async () => {
      connectForLong()
      instance[receive]('3 beat you 1')
      clock.advance(100)
      let isSettled = false
      void instance.settled().then(() => {
        isSettled = true
      })
      for (const payload of ['1 ask me 1', '1 seen you me 1', '1 bye you']) comeBack(payload)
      clock.advance(LEASE_MS - 100 - 1)
      await turn()
      assert.equal(isSettled, false)
      clock.advance(1)
      await turn()
      assert.equal(isSettled, true)
    })
  }

  it('believes nothing on the channel on which anybody may send', () => {
    connectForLong()
    comeBack('1 beat me 1')
    instance.received('1 beat you 1')
    let isSettled = false
    void instance.settled().then(() => {
      isSettled = true
    })
    comeBack('1 ask me 1')
    const said = storyOf(() => {
      for (const payload of ['1 seen you me 1', '1 bye you', '1 ask you 7', '1 digests d1', '2 beat you'])
        instance.receivedInPublic(payload)
    })
    assert.deepEqual(said, [])
    assert.equal(isSettled, false)
    assert.deepEqual(warnings, [])
  })

  it('clears the cache for a command of the earlier version', () => {
    instance.connected()
    assert.deepEqual(
      storyOf(() => instance.receivedInPublic('1 forget')),
      [EVERYTHING],
    )
  })

  it('waits a whole lease for an instance of the earlier version', async () => {
    connectForLong()
    instance.receivedInPublic('1 beat you 1')
    let isSettled = false
    void instance.settled().then(() => {
      isSettled = true
    })
    comeBack('1 ask me 1')
    clock.advance(LEASE_MS - 1)
    await turn()
    assert.equal(isSettled, false)
    clock.advance(1)
    await turn()
    assert.equal(isSettled, true)
  })

  it('settles a change when its request has returned and the others have acknowledged it', async () => {
    connectForLong()
    instance.received('1 beat you 9')
    let isSettled = false
    const said = storyOf(() => {
      void instance.settled().then(() => {
        isSettled = true
      })
    })
    assert.deepEqual(said, ['1 ask me 1'])
    // Requests of others, and acknowledgements for others, do not count.
    for (const payload of ['1 ask you 1', '1 seen you they 1', '1 ask me 1', '1 seen they me 1']) {
      comeBack(payload)
      await turn()
      assert.equal(isSettled, false, payload)
    }
    instance.received('1 seen you me 1')
    await turn()
    assert.equal(isSettled, true)
  })

  it('ignores the echo of a request from before its connection was lost', async () => {
    connectForLong()
    let isSettled = false
    void instance.settled().then(() => {
      isSettled = true
    })
    instance.disconnected()
    instance.connected()
    // The connection is too young to have received a heartbeat of every instance that holds a lease.
    comeBack('1 ask me 1')
    await turn()
    assert.equal(isSettled, false)
  })

  it('does not wait for an instance that leaves', async () => {
    connectForLong()
    instance.received('1 beat you 9')
    const settled = instance.settled()
    comeBack('1 ask me 1')
    instance.received('1 bye you')
    await settled
  })

  it('publishes that it stops, holds no lease and sends nothing more', () => {
    instance.connected()
    comeBack('1 beat me 1')
    instance.beat()
    assert.deepEqual(
      storyOf(() => instance.leave()),
      ['1 bye me'],
    )
    assert.equal(instance.holdsLease(), false)
    comeBack('1 beat me 2')
    instance.received('1 ask you 1')
    instance.beat()
    assert.equal(instance.holdsLease(), false)
    // Its connection may be reopened while it closes.
    instance.disconnected()
    instance.connected()
    assert.equal(instance.holdsLease(), false)
    assert.equal(story.at(-1), '1 bye me')
  })

  it('remembers as many heartbeats as can be in flight within a lease', () => {
    instance.connected()
    for (let beat = 2; beat <= 8; beat += 1) instance.beat()
    comeBack('1 beat me 1')
    assert.equal(instance.holdsLease(), true)
  })
})
