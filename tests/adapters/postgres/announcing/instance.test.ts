import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type Instance, protocolInstance } from '../../../../src/adapters/postgres/announcing/instance.ts'
import { LEASE_MS } from '../../../../src/adapters/postgres/announcing/lease.ts'
import type { Invalidation } from '../../../../src/application/ports/invalidations.ts'
import { type MovableClock, movableClock } from '../../../../src/testing/movable-clock.ts'
import { turn } from '../../../support/fakes.ts'

const EVERYTHING: Invalidation = { kind: 'everything' }

describe('An instance', () => {
  let clock: MovableClock
  /** What it said and what it obeyed, in their order. */
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
      obey: (invalidation) => story.push(invalidation),
      warn: (payload) => warnings.push(payload),
    })
  })

  /** What it said and obeyed because of this. */
  function storyOf(doing: () => void): (string | Invalidation)[] {
    const earlier = story.length
    doing()
    return story.slice(earlier)
  }

  it('forgets everything when its link is up, before its first heartbeat, and holds no lease yet', () => {
    assert.deepEqual(
      storyOf(() => instance.linked()),
      [EVERYTHING, '1 beat me 1'],
    )
    assert.equal(instance.holdsLease(), false)
  })

  it('holds a lease from the sending of the heartbeat that came back', () => {
    instance.linked()
    clock.advance(600)
    instance.heard('1 beat me 1')
    assert.equal(instance.holdsLease(), true)
    clock.advance(LEASE_MS - 50 - 600)
    assert.equal(instance.holdsLease(), false)
  })

  it('takes no lease from a heartbeat of another, nor twice from its own', () => {
    instance.linked()
    instance.heard('1 beat you 1')
    assert.equal(instance.holdsLease(), false)
    instance.heard('1 beat me 1')
    clock.advance(LEASE_MS)
    instance.heard('1 beat me 1')
    assert.equal(instance.holdsLease(), false)
  })

  it('takes no lease back to an earlier heartbeat that comes late', () => {
    instance.linked()
    clock.advance(250)
    instance.beat()
    instance.heard('1 beat me 2')
    instance.heard('1 beat me 1')
    clock.advance(LEASE_MS - 50 - 1)
    assert.equal(instance.holdsLease(), true)
  })

  it('says nothing and obeys nothing while it is not linked', () => {
    const doing = () => {
      instance.beat()
      instance.heard('1 forget')
      instance.heard('1 ask you 1')
      instance.heard('2 whatever')
    }
    assert.deepEqual(storyOf(doing), [])
    instance.linked()
    instance.unlinked()
    assert.deepEqual(storyOf(doing), [])
    assert.deepEqual(warnings, [])
  })

  it('loses the lease with the link, and no heartbeat from before brings one', () => {
    instance.linked()
    instance.heard('1 beat me 1')
    instance.beat()
    instance.unlinked()
    assert.equal(instance.holdsLease(), false)
    instance.heard('1 beat me 2')
    assert.equal(instance.holdsLease(), false)
    instance.linked()
    instance.heard('1 beat me 2')
    assert.equal(instance.holdsLease(), false)
    instance.heard('1 beat me 3')
    assert.equal(instance.holdsLease(), true)
  })

  it('obeys what changed, in order, and answers an ask after it', () => {
    instance.linked()
    const doing = () => {
      instance.heard('1 digests d1 d2')
      instance.heard('1 customers c1')
      instance.heard('1 forget')
      instance.heard('1 ask you 5')
    }
    assert.deepEqual(storyOf(doing), [
      { kind: 'digest', digest: 'd1' },
      { kind: 'digest', digest: 'd2' },
      { kind: 'customer', customerId: 'c1' },
      EVERYTHING,
      '1 seen me you 5',
    ])
  })

  it('answers asks without a lease, too', () => {
    instance.linked()
    assert.equal(instance.holdsLease(), false)
    assert.deepEqual(
      storyOf(() => instance.heard('1 ask you 1')),
      ['1 seen me you 1'],
    )
  })

  it('forgets all and holds no lease from a notice that it does not understand until the next link', () => {
    instance.linked()
    instance.heard('1 beat me 1')
    assert.deepEqual(
      storyOf(() => instance.heard('2 digests d1')),
      [EVERYTHING],
    )
    assert.deepEqual(warnings, ['2 digests d1'])
    assert.equal(instance.holdsLease(), false)
    instance.beat()
    instance.heard('1 beat me 2')
    assert.equal(instance.holdsLease(), false)
    // What it understands it goes on obeying.
    assert.deepEqual(
      storyOf(() => instance.heard('1 digests d2')),
      [{ kind: 'digest', digest: 'd2' }],
    )
    instance.unlinked()
    instance.linked()
    instance.heard('1 beat me 3')
    assert.equal(instance.holdsLease(), true)
  })

  it('has a change settled when its ask came back and the others have seen it', async () => {
    instance.linked()
    clock.advance(LEASE_MS)
    instance.heard('1 beat you 9')
    let isSettled = false
    const said = storyOf(() => {
      void instance.settled().then(() => {
        isSettled = true
      })
    })
    assert.deepEqual(said, ['1 ask me 1'])
    // Of others' asks, and to others, nothing counts.
    for (const payload of ['1 ask you 1', '1 seen you they 1', '1 ask me 1', '1 seen they me 1']) {
      instance.heard(payload)
      await turn()
      assert.equal(isSettled, false, payload)
    }
    instance.heard('1 seen you me 1')
    await turn()
    assert.equal(isSettled, true)
  })

  it('takes an ask from before its link was lost for no acknowledgement', async () => {
    instance.linked()
    clock.advance(LEASE_MS)
    let isSettled = false
    void instance.settled().then(() => {
      isSettled = true
    })
    instance.unlinked()
    instance.linked()
    // The link is too young to have heard of every instance that holds a lease.
    instance.heard('1 ask me 1')
    await turn()
    assert.equal(isSettled, false)
  })

  it('acknowledges nothing by its list once it did not understand a notice', async () => {
    instance.linked()
    clock.advance(LEASE_MS)
    // Of an instance of a newer release, which may hold a lease.
    instance.heard('2 beat newer 4')
    let isSettled = false
    void instance.settled().then(() => {
      isSettled = true
    })
    instance.heard('1 ask me 1')
    await turn()
    assert.equal(isSettled, false)
  })

  it('waits no longer for one that leaves', async () => {
    instance.linked()
    clock.advance(LEASE_MS)
    instance.heard('1 beat you 9')
    const settled = instance.settled()
    instance.heard('1 ask me 1')
    instance.heard('1 bye you')
    await settled
  })

  it('says goodbye when it leaves, holds no lease and says nothing more', () => {
    instance.linked()
    instance.heard('1 beat me 1')
    instance.beat()
    assert.deepEqual(
      storyOf(() => instance.leave()),
      ['1 bye me'],
    )
    assert.equal(instance.holdsLease(), false)
    instance.heard('1 beat me 2')
    instance.heard('1 ask you 1')
    instance.beat()
    assert.equal(instance.holdsLease(), false)
    // Its link may be made again while it closes.
    instance.unlinked()
    instance.linked()
    assert.equal(instance.holdsLease(), false)
    assert.equal(story.at(-1), '1 bye me')
  })

  it('remembers as many heartbeats as can be under way within a lease', () => {
    instance.linked()
    for (let beat = 2; beat <= 8; beat += 1) instance.beat()
    instance.heard('1 beat me 1')
    assert.equal(instance.holdsLease(), true)
  })
})
