import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import {
  type Acknowledgements,
  acknowledgements,
} from '../../../../src/adapters/postgres/revocation/acknowledgements.ts'
import { LEASE_MS } from '../../../../src/adapters/postgres/revocation/lease.ts'
import { type MovableClock, movableClock } from '../../../../src/testing/movable-clock.ts'
import { turn } from '../../../support/fakes.ts'

describe('An acknowledgement', () => {
  let clock: MovableClock
  /** What is to be called later. */
  let timers: Set<() => void>
  let asked: number[]
  let others: Acknowledgements

  beforeEach(() => {
    clock = movableClock()
    timers = new Set()
    asked = []
    const after = (ms: number, call: () => void) => {
      const callOff = clock.after(ms, () => timers.delete(off) && call())
      const off = () => {
        timers.delete(off)
        callOff()
      }
      timers.add(off)
      return off
    }
    others = acknowledgements({ clock: { ...clock, after }, ask: (n) => asked.push(n) })
  })

  function linkedForLong(): void {
    others.linked()
    clock.advance(LEASE_MS)
  }

  /** The ask came back, and its statement had found the triggers as they were. */
  function comeBack(n: number): void {
    others.verified(n)
    others.heardEcho(n)
  }

  /** Returns whether it is settled by now. */
  function settling(): () => Promise<boolean> {
    let isSettled = false
    void others.settled().then(() => {
      isSettled = true
    })
    return async () => {
      await turn()
      return isSettled
    }
  }

  it('waits for the echo alone when there is no other instance', async () => {
    linkedForLong()
    const isSettled = settling()
    assert.deepEqual(asked, [1])
    assert.equal(await isSettled(), false)
    comeBack(1)
    assert.equal(await isSettled(), true)
    assert.equal(timers.size, 0, 'a timer is left')
  })

  it('waits for the result of its own statement, before or after the echo', async () => {
    linkedForLong()
    others.heardBeat('a')
    const first = settling()
    others.heardEcho(1)
    others.heardSeen('a', 1)
    assert.equal(await first(), false)
    others.verified(1)
    assert.equal(await first(), true)
    const second = settling()
    others.verified(2)
    assert.equal(await second(), false)
    others.heardEcho(2)
    others.heardSeen('a', 2)
    assert.equal(await second(), true)
    assert.equal(timers.size, 0, 'a timer is left')
  })

  it('waits a whole lease when its statement found the triggers changed', async () => {
    linkedForLong()
    const isSettled = settling()
    others.heardEcho(1)
    clock.advance(LEASE_MS - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
  })

  it('waits a whole lease without asking while the connection is younger than a lease', async () => {
    others.linked()
    clock.advance(LEASE_MS - 1)
    const isSettled = settling()
    assert.deepEqual(asked, [])
    clock.advance(LEASE_MS - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
  })

  it('waits a whole lease without a link, and after one was lost', async () => {
    const neverLinked = settling()
    clock.advance(LEASE_MS)
    assert.equal(await neverLinked(), true)
    linkedForLong()
    const waiting = settling()
    others.unlinked()
    const later = settling()
    assert.deepEqual(asked, [1])
    comeBack(1)
    clock.advance(LEASE_MS - 1)
    assert.deepEqual([await waiting(), await later()], [false, false])
    clock.advance(1)
    assert.deepEqual([await waiting(), await later()], [true, true])
  })

  it('waits until every known instance has acknowledged', async () => {
    linkedForLong()
    others.heardBeat('a')
    others.heardBeat('b')
    const isSettled = settling()
    comeBack(1)
    others.heardSeen('a', 1)
    assert.equal(await isSettled(), false)
    others.heardSeen('b', 1)
    assert.equal(await isSettled(), true)
    assert.equal(timers.size, 0, 'a timer is left')
  })

  it('counts a heartbeat that was heard after the asking and before the echo', async () => {
    linkedForLong()
    const isSettled = settling()
    others.heardBeat('a')
    comeBack(1)
    assert.equal(await isSettled(), false)
    others.heardSeen('a', 1)
    assert.equal(await isSettled(), true)
  })

  it('waits for a silent instance until the lease of its last heartbeat before the echo ends', async () => {
    linkedForLong()
    others.heardBeat('a')
    clock.advance(400)
    const isSettled = settling()
    comeBack(1)
    clock.advance(200)
    // This one gives a lease that begins behind the change.
    others.heardBeat('a')
    clock.advance(LEASE_MS - 600 - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
  })

  it('does not wait for an instance whose lease has ended, nor ever again for it', async () => {
    linkedForLong()
    others.heardBeat('a')
    clock.advance(LEASE_MS)
    const isSettled = settling()
    comeBack(1)
    assert.equal(await isSettled(), true)
  })

  it('does not wait for an instance that has stopped serving, before or after the echo', async () => {
    linkedForLong()
    others.heardBeat('a')
    others.heardBye('a')
    const afterGoodbye = settling()
    comeBack(1)
    assert.equal(await afterGoodbye(), true)
    others.heardBeat('b')
    const before = settling()
    comeBack(2)
    assert.equal(await before(), false)
    others.heardBye('b')
    assert.equal(await before(), true)
  })

  it('is given by the acknowledgement of a later ask, but not of an earlier one', async () => {
    linkedForLong()
    others.heardBeat('a')
    const first = settling()
    comeBack(1)
    const second = settling()
    comeBack(2)
    const third = settling()
    comeBack(3)
    others.heardSeen('a', 2)
    assert.deepEqual([await first(), await second(), await third()], [true, true, false])
    others.heardSeen('a', 2)
    assert.equal(await third(), false)
  })

  it('uses one ask for all waiting changes, and another for changes committed after it was sent', async () => {
    linkedForLong()
    const first = settling()
    const batch = [settling(), settling(), settling()]
    assert.deepEqual(asked, [1])
    comeBack(1)
    assert.equal(await first(), true)
    assert.deepEqual(asked, [1, 2])
    for (const isSettled of batch) assert.equal(await isSettled(), false)
    comeBack(2)
    for (const isSettled of batch) assert.equal(await isSettled(), true)
    assert.deepEqual(asked, [1, 2])
  })

  it('takes a whole lease when the ask is lost, and the next change asks again', async () => {
    linkedForLong()
    const lost = settling()
    clock.advance(300)
    const batch = settling()
    clock.advance(LEASE_MS - 300 - 1)
    assert.equal(await lost(), false)
    clock.advance(1)
    assert.equal(await lost(), true)
    const later = settling()
    assert.deepEqual(asked, [1, 2])
    // The lost ask was only late: it acknowledges nothing that was committed after it.
    comeBack(1)
    assert.deepEqual([await batch(), await later()], [false, false])
    comeBack(2)
    assert.deepEqual([await batch(), await later()], [true, true])
  })

  it('ignores messages that belong to no ask of its own', async () => {
    linkedForLong()
    comeBack(1)
    others.heardSeen('a', 7)
    others.heardBye('a')
    const isSettled = settling()
    comeBack(2)
    assert.equal(await isSettled(), false)
  })

  it('survives a lost connection after the echo: missing instances are waited for until their leases expire', async () => {
    linkedForLong()
    others.heardBeat('a')
    const isSettled = settling()
    comeBack(1)
    others.unlinked()
    others.linked()
    clock.advance(LEASE_MS - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
    assert.equal(timers.size, 0, 'a timer is left')
  })
})
