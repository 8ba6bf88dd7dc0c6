import assert from 'node:assert/strict'
import type { Invalidation, Invalidations } from '../../application/ports/invalidations.ts'
import { aDigest } from '../builders.ts'
import { type TestRunner, withTimeout } from '../runner.ts'

/**
 * The contract of `Invalidations`: every kind is delivered unchanged and in order, this process applies it before the
 * call returns, and instances that share nothing receive nothing; 50 are published at once. `create` returns one that is
 * current and shares nothing with others; it is called for each test, and the caller closes what it opens. The adapter’s
 * own tests check that several instances apply an invalidation before `publish` resolves. Takes milliseconds, plus the
 * round trips of 60 publications.
 */
export function invalidationsContract(
  name: string,
  create: () => Promise<Invalidations>,
  runner?: TestRunner,
): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of Invalidations:`, () => {
    const kinds: readonly Invalidation[] = [
      { kind: 'digest', digest: aDigest() },
      { kind: 'customer', customerId: 'a0000000-0000-4000-8000-000000000001' },
      { kind: 'everything' },
    ]

    it('every kind is applied as published, before the publication resolves', async () => {
      const invalidations = await create()
      const applied: Invalidation[] = []
      invalidations.subscribe((invalidation) => applied.push(invalidation))
      for (const [index, invalidation] of kinds.entries()) {
        await invalidations.publish(invalidation)
        assert.deepEqual(applied, kinds.slice(0, index + 1))
      }
    })

    it('this process applies an invalidation before the call returns', async () => {
      const invalidations = await create()
      const applied: Invalidation[] = []
      invalidations.subscribe((invalidation) => applied.push(invalidation))
      const pending = invalidations.publish({ kind: 'everything' })
      assert.deepEqual(applied, [{ kind: 'everything' }])
      await pending
    })

    it('the cache may be used', async () => {
      const invalidations = await create()
      assert.equal(invalidations.isCurrent(), true)
    })

    it('every subscriber applies the invalidations in the order of publication', async () => {
      const invalidations = await create()
      const applied: Invalidation[][] = [[], [], []]
      for (const list of applied) invalidations.subscribe((invalidation) => list.push(invalidation))
      const all = Array.from({ length: 50 }, () => ({ kind: 'digest', digest: aDigest() }) as const)
      await Promise.all(all.map((invalidation) => invalidations.publish(invalidation)))
      for (const list of applied) assert.deepEqual(list, all)
    })

    it('a publication without subscribers resolves', async () => {
      const invalidations = await create()
      await invalidations.publish({ kind: 'everything' })
    })

    it('a subscriber receives nothing that was published before', async () => {
      const invalidations = await create()
      await invalidations.publish({ kind: 'everything' })
      const applied: Invalidation[] = []
      invalidations.subscribe((invalidation) => applied.push(invalidation))
      assert.deepEqual(applied, [])
    })

    it('two instances that share nothing receive nothing from each other', async () => {
      const [one, other] = [await create(), await create()]
      const applied: Invalidation[] = []
      other.subscribe((invalidation) => applied.push(invalidation))
      await one.publish({ kind: 'everything' })
      assert.deepEqual(applied, [])
    })
  })
}
