import assert from 'node:assert/strict'
import { LEASE_MS } from '../../../src/adapters/postgres/revocation/lease.ts'
import { InvalidToken, Unavailable } from '../../../src/domain/errors.ts'
import type { History, Known } from './history.ts'
import { LATE_MS, type Machine } from './machine.ts'
import type { Process } from './processes.ts'
import type { Run } from './run.ts'
import { DEADLINE, REQUESTER } from './service.ts'

/** Validates a token and compares the result with what was promised when the validation began. */
export async function validate(
  { time, tally }: Run,
  history: History,
  process: Process,
  known: Known,
): Promise<void> {
  const { machine, service } = process
  const beganAt = history.step()
  const isAcknowledged = known.acknowledgedAt < beganAt
  const isOld = known.endedMs + LEASE_MS <= time.nowMs
  const hadExpired = hasExpired()
  if (isAcknowledged) tally.afterAcknowledgement += 1
  if (isAcknowledged && process.instance.holdsLease()) tally.afterAcknowledgementWithLease += 1
  if (isOld) tally.secondLater += 1
  service.hasAsked = false
  // Wrapped so that a synchronous result or error is handled below like the rest.
  const validating = (async () => service.authenticate(known.digest, DEADLINE, REQUESTER))()
  // A lookup is sent before anything else can run.
  const isHit = !service.hasAsked
  try {
    await validating
    tally.accepted += 1
    if (isHit) tally.hits += 1
    assert.ok(!isAcknowledged, 'accepted after the acknowledgement')
    assert.ok(!isOld, 'accepted a second after the change')
    assert.ok(!hadExpired, 'accepted after its expiry')
    assert.ok((known.refusedAt.get(process.name) ?? Infinity) >= beganAt, 'accepted after it was refused')
  } catch (error) {
    if (error instanceof Unavailable) tally.unavailable += 1
    if (!(error instanceof InvalidToken)) throw error
    tally.refused += 1
    assert.ok(known.endedMs <= time.nowMs || hasExpired(), 'refused without a reason')
    if (!known.refusedAt.has(process.name)) known.refusedAt.set(process.name, history.step())
  }

  function hasExpired(): boolean {
    return (known.token.expiresAtMs ?? Infinity) <= machine.clock.nowMs()
  }
}

/** Asserts that an acknowledgement took at most one lease, unless its process was paused. */
export function expectInTime({ time, tally }: Run, { wakesMs, rate }: Machine, beganMs: number): void {
  const tookMs = time.nowMs - beganMs
  tally.acknowledged += 1
  if (tookMs < LEASE_MS / 2) tally.acknowledgedEarly += 1
  if (wakesMs > beganMs) return
  assert.ok(tookMs <= LEASE_MS / rate + LATE_MS + 1, 'acknowledged later than a lease')
}
