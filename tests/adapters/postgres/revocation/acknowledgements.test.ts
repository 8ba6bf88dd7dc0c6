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
  let requested: number[]
  let others: Acknowledgements

  beforeEach(() => {
    clock = movableClock()
    timers = new Set()
    requested = []
    const after = (ms: number, call: () => void) => {
      const cancel = clock.after(ms, () => timers.delete(off) && call())
      const off = () => {
        timers.delete(off)
        cancel()
      }
      timers.add(off)
      return off
    }
    others = acknowledgements({ clock: { ...clock, after }, request: (n) => requested.push(n) })
  })

  function connectedForLong(): void {
    others.connected()
    clock.advance(LEASE_MS)
  }

  /** The request came back, and its statement had found the triggers as they were. */
  function comeBack(n: number): void {
    others.verified(n)
    others.receivedEcho(n)
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
    connectedForLong()
    const isSettled = settling()
    assert.deepEqual(requested, [1])
    assert.equal(await isSettled(), false)
    comeBack(1)
    assert.equal(await isSettled(), true)
    assert.equal(timers.size, 0, 'a timer is left')
  })

  it('waits for the result of its own statement, before or after the echo', async () => {
    connectedForLong()
    others.receivedHeartbeat('a')
    const first = settling()
    others.receivedEcho(1)
    others.receivedAcknowledgement('a', 1)
    assert.equal(await first(), false)
    others.verified(1)
    assert.equal(await first(), true)
    const second = settling()
    others.verified(2)
    assert.equal(await second(), false)
    others.receivedEcho(2)
    others.receivedAcknowledgement('a', 2)
    assert.equal(await second(), true)
    assert.equal(timers.size, 0, 'a timer is left')
  })

  it('waits a whole lease when its statement found the triggers changed', async () => {
    connectedForLong()
    const isSettled = settling()
    others.receivedEcho(1)
    clock.advance(LEASE_MS - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
  })

  it('waits a whole lease without a request while the connection is younger than a lease', async () => {
    others.connected()
    clock.advance(LEASE_MS - 1)
    const isSettled = settling()
    assert.deepEqual(requested, [])
    clock.advance(LEASE_MS - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
  })

  it('waits a whole lease without a link, and after one was lost', async () => {
    const neverConnected = settling()
    clock.advance(LEASE_MS)
    assert.equal(await neverConnected(), true)
    connectedForLong()
    const waiting = settling()
    others.disconnected()
    const later = settling()
    assert.deepEqual(requested, [1])
    comeBack(1)
    clock.advance(LEASE_MS - 1)
    assert.deepEqual([await waiting(), await later()], [false, false])
    clock.advance(1)
    assert.deepEqual([await waiting(), await later()], [true, true])
  })

  it('waits until every known instance has acknowledged', async () => {
    connectedForLong()
    others.receivedHeartbeat('a')
    others.receivedHeartbeat('b')
    const isSettled = settling()
    comeBack(1)
    others.receivedAcknowledgement('a', 1)
    assert.equal(await isSettled(), false)
    others.receivedAcknowledgement('b', 1)
    assert.equal(await isSettled(), true)
    assert.equal(timers.size, 0, 'a timer is left')
  })

  it('counts a heartbeat that was received after the request and before the echo', async () => {
    connectedForLong()
    const isSettled = settling()
    others.receivedHeartbeat('a')
    comeBack(1)
    assert.equal(await isSettled(), false)
    others.receivedAcknowledgement('a', 1)
    assert.equal(await isSettled(), true)
  })

  it('waits for a silent instance until the lease of its last heartbeat before the echo ends', async () => {
    connectedForLong()
    others.receivedHeartbeat('a')
    clock.advance(400)
    const isSettled = settling()
    comeBack(1)
    clock.advance(200)
    // This one gives a lease that begins behind the change.
    others.receivedHeartbeat('a')
    clock.advance(LEASE_MS - 600 - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
  })

  it('does not wait for an instance whose lease has ended, nor ever again for it', async () => {
    connectedForLong()
    others.receivedHeartbeat('a')
    clock.advance(LEASE_MS)
    const isSettled = settling()
    comeBack(1)
    assert.equal(await isSettled(), true)
  })

  it('does not wait for an instance that has stopped serving, before or after the echo', async () => {
    connectedForLong()
    others.receivedHeartbeat('a')
    others.receivedBye('a')
    const afterGoodbye = settling()
    comeBack(1)
    assert.equal(await afterGoodbye(), true)
    others.receivedHeartbeat('b')
    const before = settling()
    comeBack(2)
    assert.equal(await before(), false)
    others.receivedBye('b')
    assert.equal(await before(), true)
  })

  it('is given by the acknowledgement of a later ask, but not of an earlier one', async () => {
    connectedForLong()
    others.receivedHeartbeat('a')
    const first = settling()
    comeBack(1)
    const second = settling()
    comeBack(2)
    const third = settling()
    comeBack(3)
    others.receivedAcknowledgement('a', 2)
    assert.deepEqual([await first(), await second(), await third()], [true, true, false])
    others.receivedAcknowledgement('a', 2)
    assert.equal(await third(), false)
  })

  it('uses one ask for all waiting changes, and another for changes committed after it was sent', async () => {
    connectedForLong()
    const first = settling()
    const batch = [settling(), settling(), settling()]
    assert.deepEqual(requested, [1])
    comeBack(1)
    assert.equal(await first(), true)
    assert.deepEqual(requested, [1, 2])
    for (const isSettled of batch) assert.equal(await isSettled(), false)
    comeBack(2)
    for (const isSettled of batch) assert.equal(await isSettled(), true)
    assert.deepEqual(requested, [1, 2])
  })

  it('takes a whole lease when the ask is lost, and the next change asks again', async () => {
    connectedForLong()
    const lost = settling()
    clock.advance(300)
    const batch = settling()
    clock.advance(LEASE_MS - 300 - 1)
    assert.equal(await lost(), false)
    clock.advance(1)
    assert.equal(await lost(), true)
    const later = settling()
    assert.deepEqual(requested, [1, 2])
    // The lost ask was only late: it acknowledges nothing that was committed after it.
    comeBack(1)
    assert.deepEqual([await batch(), await later()], [false, false])
    comeBack(2)
    assert.deepEqual([await batch(), await later()], [true, true])
  })

  it('ignores messages that belong to no ask of its own', async () => {
    connectedForLong()
    comeBack(1)
    others.receivedAcknowledgement('a', 7)
    others.receivedBye('a')
    const isSettled = settling()
    comeBack(2)
    assert.equal(await isSettled(), false)
  })

  it('survives a lost connection after the echo: missing instances are waited for until their leases expire', async () => {
    connectedForLong()
    others.receivedHeartbeat('a')
    const isSettled = settling()
    comeBack(1)
    others.disconnected()
    others.connected()
    clock.advance(LEASE_MS - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
    assert.equal(timers.size, 0, 'a timer is left')
  })
})
