import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  admitSession,
  deviceProblem,
  type HeldSession,
  idleEndMs,
  replaceAll,
} from '../../src/domain/session.ts'

const NOW_MS = 1_700_000_000_000

function held(slot: number, createdAtMs: number, expiresAtMs: number | null = null): HeldSession {
  return { id: `s${slot}`, slot, createdAtMs, expiresAtMs, lastUsedAtMs: null }
}

const hasEnded = ({ expiresAtMs }: HeldSession) => expiresAtMs !== null && expiresAtMs <= NOW_MS

/** Sessions in different slots, some of which have ended. */
const sessions = fc
  .uniqueArray(fc.integer({ min: 1, max: 100 }), { maxLength: 100 })
  .chain((slots) =>
    fc.tuple(
      ...slots.map((slot) =>
        fc
          .tuple(fc.integer({ min: 0, max: 50 }), fc.boolean())
          .map(([age, ended]) => held(slot, NOW_MS - age, ended ? NOW_MS : null)),
      ),
    ),
  )

describe('A new session', () => {
  it('leaves at most `max` sessions in different slots up to `max`, the newest ones', () => {
    const property = fc.property(sessions, fc.integer({ min: 1, max: 100 }), (before, max) => {
      const admission = admitSession(before, { max, whenFull: 'replace' }, hasEnded)
      assert.ok(admission !== 'full')
      const moves = new Map(admission.moved.map(({ id, slot }) => [id, slot]))
      const remaining = before.filter(({ id }) => !admission.revoked.includes(id))
      const slots = [admission.slot, ...remaining.map(({ id, slot }) => moves.get(id) ?? slot)]
      assert.equal(new Set(slots).size, slots.length)
      assert.ok(slots.every((slot) => slot >= 1 && slot <= max))
      const live = before.filter((session) => !hasEnded(session))
      assert.equal(slots.length, Math.min(max, live.length + 1))
      assert.ok(remaining.every((session) => !hasEnded(session)))
      const oldestRemaining = Math.min(...remaining.map(({ createdAtMs }) => createdAtMs))
      for (const { id, createdAtMs } of live)
        assert.ok(createdAtMs <= oldestRemaining || remaining.some((session) => session.id === id))
      // A slot is free before another session moves there.
      for (const { id, slot } of admission.moved)
        assert.ok(remaining.every((session) => session.id === id || session.slot !== slot))
      assert.ok(admission.moved.every(({ id }) => !admission.revoked.includes(id)))
    })
    fc.assert(property, { numRuns: 2000 })
  })

  it('is refused if and only if `max` sessions are live', () => {
    const property = fc.property(sessions, fc.integer({ min: 1, max: 100 }), (before, max) => {
      const admission = admitSession(before, { max, whenFull: 'refuse' }, hasEnded)
      const live = before.filter((session) => !hasEnded(session))
      if (live.length >= max) return assert.equal(admission, 'full')
      assert.ok(admission !== 'full')
      assert.deepEqual(
        admission.revoked.toSorted(),
        before
          .filter(hasEnded)
          .map(({ id }) => id)
          .toSorted(),
      )
    })
    fc.assert(property, { numRuns: 2000 })
  })

  it('takes the smallest free slot and moves survivors when the limit was lowered', () => {
    const before = [held(1, NOW_MS - 9), held(4, NOW_MS - 2), held(7, NOW_MS - 1), held(9, NOW_MS, NOW_MS)]
    const limit = { max: 3, whenFull: 'replace' } as const
    assert.deepEqual(admitSession(before, limit, hasEnded), {
      slot: 3,
      revoked: ['s1', 's9'],
      moved: [
        { id: 's7', slot: 1 },
        { id: 's4', slot: 2 },
      ],
    })
    assert.deepEqual(admitSession([held(1, NOW_MS), held(3, NOW_MS)], limit, hasEnded), {
      slot: 2,
      revoked: [],
      moved: [],
    })
  })

  it('with one slot replaces all others', () => {
    const before = [held(1, NOW_MS - 9), held(4, NOW_MS - 2)]
    const admission = admitSession(before, { max: 1, whenFull: 'replace' }, hasEnded)
    assert.deepEqual(admission, replaceAll(before))
  })
})

describe('The idle time', () => {
  it('begins at the latest of creation, stored use and known use, and ends 60 s after T', () => {
    const token = { createdAtMs: 1000, lastUsedAtMs: null }
    assert.equal(idleEndMs(token, 300_000, null), 361_000)
    assert.equal(idleEndMs({ ...token, lastUsedAtMs: 3000 }, 300_000, null), 363_000)
    assert.equal(idleEndMs({ ...token, lastUsedAtMs: 3000 }, 300_000, 2000), 363_000)
    assert.equal(idleEndMs({ ...token, lastUsedAtMs: 3000 }, 300_000, 5000), 365_000)
    assert.equal(idleEndMs({ ...token, lastUsedAtMs: 500 }, 300_000, 700), 361_000)
  })
})

describe('The label of a device', () => {
  it('has at most 100 characters and no control character', () => {
    for (const device of ['', 'Ana’s phone', '🦊'.repeat(100)]) assert.equal(deviceProblem(device), null)
    assert.equal(deviceProblem('x'.repeat(101)), 'Must have at most 100 characters.')
    assert.equal(deviceProblem('a\nb'), 'Must not contain control characters.')
    assert.equal(deviceProblem('\ud800'), 'Must be well-formed text.')
  })
})
