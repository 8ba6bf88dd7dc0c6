import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryInvalidations } from '../../src/adapters/memory/invalidations.ts'
import { createDeadline } from '../../src/application/deadline.ts'
import { revokeMissing } from '../../src/application/management/revoke-missing.ts'
import type { ImportedTokens } from '../../src/application/ports/imported-tokens.ts'
import type { Invalidation } from '../../src/application/ports/invalidations.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'

/** A store of tokens whose digests are their IDs, and what was done to it. */
function start(count: number) {
  const clock = movableClock()
  const ids = Array.from({ length: count }, (_, index) => `${index}`.padStart(5, '0'))
  const revoked: { readonly ids: readonly string[]; readonly atMs: number }[] = []
  const published: Invalidation[] = []
  const invalidations = memoryInvalidations()
  invalidations.subscribe((invalidation) => published.push(invalidation))
  const store: Pick<ImportedTokens, 'listUnrevoked' | 'revokeMany'> = {
    listUnrevoked: async (_form, { after, limit }) =>
      ids
        .filter((id) => after === null || id > after)
        .slice(0, limit)
        .map((id) => ({ id, digest: id })),
    async revokeMany(chosen, atMs) {
      revoked.push({ ids: chosen, atMs })
      return chosen.length
    },
  }
  const run = (present: readonly string[], isDryRun = false) => {
    const set = new Set(present)
    return revokeMissing(
      { store: store as ImportedTokens, invalidations, clock },
      'sanctum',
      { add: (digest) => void set.add(digest), has: (digest) => set.has(digest), size: () => set.size },
      { isDryRun, deadline: () => createDeadline(1000, clock) },
    )
  }
  return { ids, clock, run, revoked, published }
}

describe('The revocation of tokens that an import lacks', () => {
  it('reads every page and revokes those that are missing, before it resolves for every instance', async () => {
    const { ids, clock, run, revoked, published } = start(2500)
    const missing = ['00003', '01500', '02499']
    assert.equal(await run(ids.filter((id) => !missing.includes(id))), 3)
    assert.deepEqual(
      revoked,
      missing.map((id) => ({ ids: [id], atMs: clock.nowMs() })),
    )
    assert.deepEqual(published, [{ kind: 'everything' }])
  })

  it('reads on after a full page, after which no token follows', async () => {
    const { ids, run } = start(1000)
    assert.equal(await run(ids.slice(1)), 1)
  })

  it('publishes also when it revoked none, since an earlier run may have ended too early', async () => {
    const { ids, run, revoked, published } = start(1)
    assert.equal(await run(ids), 0)
    assert.deepEqual([revoked, published], [[], [{ kind: 'everything' }]])
    assert.equal(await start(0).run([]), 0)
  })

  it('only counts in a dry run', async () => {
    const { run, revoked, published } = start(3)
    assert.equal(await run(['00001'], true), 2)
    assert.deepEqual([revoked, published], [[], []])
  })
})
