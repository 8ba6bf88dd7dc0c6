import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import {
  type Acknowledgements,
  acknowledgements,
} from '../../../../src/adapters/postgres/revocation/acknowledgements.ts'
import { LEASE_MS } from '../../../../src/adapters/postgres/revocation/lease.ts'
import { type MovableClock, movableClock } from '../../../../src/testing/movable-clock.ts'
import { turn } from '../../../support/fakes.ts'

describe('A wait for acknowledgements', () => {
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

  it('ends with the echo when there is no other instance', async () => {
    connectedForLong()
    const isSettled = settling()
    assert.deepEqual(requested, [1])
    assert.equal(await isSettled(), false)
    comeBack(1)
    assert.equal(await isSettled(), true)
    assert.equal(timers.size, 0, 'a timer is left')
  })

  it('needs the result of its own statement, before or after the echo', async () => {
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

  it('lasts a whole lease when its statement found the triggers changed', async () => {
    connectedForLong()
    const isSettled = settling()
    others.receivedEcho(1)
    clock.advance(LEASE_MS - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
  })

  it('lasts a whole lease without a request while the connection is younger than a lease', async () => {
    others.connected()
    clock.advance(LEASE_MS - 1)
    const isSettled = settling()
    assert.deepEqual(requested, [])
    clock.advance(LEASE_MS - 1)
    assert.equal(await isSettled(), false)
    clock.advance(1)
    assert.equal(await isSettled(), true)
  })

  it('lasts a whole lease without a connection, and after one was lost', async () => {
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

  it('lasts until every known instance has acknowledged', async () => {
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

  it('includes an instance whose heartbeat was received after the request and before the echo', async () => {
    connectedForLong()
    const isSettled = settling()
    others.receivedHeartbeat('a')
    comeBack(1)
    assert.equal(await isSettled(), false)
    others.receivedAcknowledgement('a', 1)
    assert.equal(await isSettled(), true)
  })

  it('lasts for a silent instance until the lease of its last heartbeat before the echo expires', async () => {
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

  it('does not include an instance whose lease has expired, now or later', async () => {
    connectedForLong()
    others.receivedHeartbeat('a')
    clock.advance(LEASE_MS)
    const isSettled = settling()
    comeBack(1)
    assert.equal(await isSettled(), true)
  })

  it('does not include an instance that has stopped serving, before or after the echo', async () => {
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

  it('ends with the acknowledgement of a later request, but not of an earlier one', async () => {
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

  it('shares one request with all waiting changes, and sends another for changes committed after it was sent', async () => {
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

  it('lasts a whole lease when the request is lost, and the next change sends another', async () => {
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

  it('ignores messages that belong to no request of its own', async () => {
    connectedForLong()
    comeBack(1)
    others.receivedAcknowledgement('a', 7)
    others.receivedBye('a')
    const isSettled = settling()
    comeBack(2)
    assert.equal(await isSettled(), false)
  })

  it('continues after a lost connection until the leases of missing instances expire, if the echo was received', async () => {
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
