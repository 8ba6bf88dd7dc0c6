import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import {
  createLease,
  currentMoment,
  LEASE_MS,
  type Lease,
} from '../../../../src/adapters/postgres/revocation/lease.ts'
import { type MovableClock, movableClock } from '../../../../src/testing/movable-clock.ts'

const HELD_MS = 800

describe('A lease', () => {
  let clock: MovableClock
  let lease: Lease
  beforeEach(() => {
    clock = movableClock()
    lease = createLease(clock)
  })

  it('is invalid before it is granted', () => {
    assert.equal(lease.holds(), false)
  })

  it('expires its duration minus the margin after the heartbeat was sent, even if that returned late', () => {
    const sentAt = currentMoment(clock)
    clock.advance(700)
    lease.grant(sentAt)
    assert.equal(lease.holds(), true)
    clock.advance(HELD_MS - 700 - 1)
    assert.equal(lease.holds(), true)
    clock.advance(1)
    assert.equal(lease.holds(), false)
  })

  it('never begins when the heartbeat returned too late', () => {
    const sentAt = currentMoment(clock)
    clock.advance(HELD_MS)
    lease.grant(sentAt)
    assert.equal(lease.holds(), false)
  })

  it('has a margin for clocks whose rates differ from real time by a tenth', () => {
    // The slowest clock holds the lease, and the fastest one waits for it.
    assert.ok(HELD_MS / 0.9 < LEASE_MS / 1.1)
  })

  it('counts from the latest heartbeat', () => {
    lease.grant(currentMoment(clock))
    clock.advance(250)
    lease.grant(currentMoment(clock))
    clock.advance(HELD_MS - 1)
    assert.equal(lease.holds(), true)
  })

  it('is invalid after its end until another is granted', () => {
    lease.grant(currentMoment(clock))
    lease.end()
    assert.equal(lease.holds(), false)
    lease.grant(currentMoment(clock))
    assert.equal(lease.holds(), true)
  })

  it('is invalid while the wall clock is before the sending, and expires no later because of that', () => {
    lease.grant(currentMoment(clock))
    clock.setWall(-1)
    assert.equal(lease.holds(), false)
    clock.advance(1)
    assert.equal(lease.holds(), true)
    clock.setWall(-500)
    clock.advance(HELD_MS - 1)
    assert.equal(lease.holds(), false)
  })

  it('expires while the machine sleeps, which only the wall clock shows', () => {
    lease.grant(currentMoment(clock))
    clock.setWall(HELD_MS - 1)
    assert.equal(lease.holds(), true)
    clock.setWall(1)
    assert.equal(lease.holds(), false)
    // The next heartbeat is sent by the clock as it is now.
    lease.grant(currentMoment(clock))
    assert.equal(lease.holds(), true)
  })
})
