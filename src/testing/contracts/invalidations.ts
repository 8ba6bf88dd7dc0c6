import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Invalidation, Invalidations } from '../../application/ports/invalidations.ts'
import { aDigest } from '../builders.ts'
import { SENTENCE } from '../stores.ts'

/**
 * What every adapter of `Invalidations` does: every kind is obeyed as it was announced, in order, here before the call
 * returns, and by nobody who shares nothing with it; 50 are announced at once. `create` gives one that may be used,
 * shared with no other; it is called for each sentence, and what it opens is the caller’s to close. That several
 * instances obey before an announcement resolves is for the adapter’s own tests. Takes milliseconds, or as many round
 * trips as 60 announcements need.
 */
export function invalidationsContract(name: string, create: () => Promise<Invalidations>): void {
  describe(`${name} keeps the contract of Invalidations:`, () => {
    const kinds: readonly Invalidation[] = [
      { kind: 'digest', digest: aDigest() },
      { kind: 'customer', customerId: 'a0000000-0000-4000-8000-000000000001' },
      { kind: 'everything' },
    ]

    it('every kind is obeyed as it was announced, before the announcement resolves', SENTENCE, async () => {
      const { subscribe, publish } = await create()
      const applied: Invalidation[] = []
      subscribe((invalidation) => applied.push(invalidation))
      for (const [index, invalidation] of kinds.entries()) {
        await publish(invalidation)
        assert.deepEqual(applied, kinds.slice(0, index + 1))
      }
    })

    it('an announcement is obeyed here before the call returns', SENTENCE, async () => {
      const { subscribe, publish } = await create()
      const applied: Invalidation[] = []
      subscribe((invalidation) => applied.push(invalidation))
      const pending = publish({ kind: 'everything' })
      assert.deepEqual(applied, [{ kind: 'everything' }])
      await pending
    })

    it('what is kept may be used', SENTENCE, async () => {
      const { isCurrent } = await create()
      assert.equal(isCurrent(), true)
    })

    it('every subscriber obeys, in the order of the announcements', SENTENCE, async () => {
      const { subscribe, publish } = await create()
      const applied: Invalidation[][] = [[], [], []]
      for (const list of applied) subscribe((invalidation) => list.push(invalidation))
      const all = Array.from({ length: 50 }, () => ({ kind: 'digest', digest: aDigest() }) as const)
      await Promise.all(all.map((invalidation) => publish(invalidation)))
      for (const list of applied) assert.deepEqual(list, all)
    })

    it('an announcement that nobody subscribed to resolves', SENTENCE, async () => {
      const { publish } = await create()
      await publish({ kind: 'everything' })
    })

    it('a subscriber hears nothing of what was announced before', SENTENCE, async () => {
      const { subscribe, publish } = await create()
      await publish({ kind: 'everything' })
      const applied: Invalidation[] = []
      subscribe((invalidation) => applied.push(invalidation))
      assert.deepEqual(applied, [])
    })

    it('two instances of it that share nothing do not hear one another', SENTENCE, async () => {
      const [one, other] = [await create(), await create()]
      const applied: Invalidation[] = []
      other.subscribe((invalidation) => applied.push(invalidation))
      await one.publish({ kind: 'everything' })
      assert.deepEqual(applied, [])
    })
  })
}
