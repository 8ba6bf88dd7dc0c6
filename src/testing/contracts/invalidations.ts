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
      const { subscribe, announce } = await create()
      const obeyed: Invalidation[] = []
      subscribe((invalidation) => obeyed.push(invalidation))
      for (const [index, invalidation] of kinds.entries()) {
        await announce(invalidation)
        assert.deepEqual(obeyed, kinds.slice(0, index + 1))
      }
    })

    it('an announcement is obeyed here before the call returns', SENTENCE, async () => {
      const { subscribe, announce } = await create()
      const obeyed: Invalidation[] = []
      subscribe((invalidation) => obeyed.push(invalidation))
      const announced = announce({ kind: 'everything' })
      assert.deepEqual(obeyed, [{ kind: 'everything' }])
      await announced
    })

    it('what is kept may be used', SENTENCE, async () => {
      const { isCurrent } = await create()
      assert.equal(isCurrent(), true)
    })

    it('every subscriber obeys, in the order of the announcements', SENTENCE, async () => {
      const { subscribe, announce } = await create()
      const obeyed: Invalidation[][] = [[], [], []]
      for (const list of obeyed) subscribe((invalidation) => list.push(invalidation))
      const all = Array.from({ length: 50 }, () => ({ kind: 'digest', digest: aDigest() }) as const)
      await Promise.all(all.map((invalidation) => announce(invalidation)))
      for (const list of obeyed) assert.deepEqual(list, all)
    })

    it('an announcement that nobody subscribed to resolves', SENTENCE, async () => {
      const { announce } = await create()
      await announce({ kind: 'everything' })
    })

    it('a subscriber hears nothing of what was announced before', SENTENCE, async () => {
      const { subscribe, announce } = await create()
      await announce({ kind: 'everything' })
      const obeyed: Invalidation[] = []
      subscribe((invalidation) => obeyed.push(invalidation))
      assert.deepEqual(obeyed, [])
    })

    it('two instances of it that share nothing do not hear one another', SENTENCE, async () => {
      const [one, other] = [await create(), await create()]
      const obeyed: Invalidation[] = []
      other.subscribe((invalidation) => obeyed.push(invalidation))
      await one.announce({ kind: 'everything' })
      assert.deepEqual(obeyed, [])
    })
  })
}
