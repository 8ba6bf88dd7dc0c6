import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  invalidatingLoginTokens,
  publishInvalidation,
} from '../../src/application/login-tokens/invalidating.ts'
import type { Invalidation, Invalidations } from '../../src/application/ports/invalidations.ts'
import type { LoginTokens } from '../../src/application/ports/login-tokens.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { aDigest, aLoginToken } from '../../src/testing/builders.ts'
import { deferred, turn } from '../support/fakes.ts'

const EVERYTHING: Invalidation = { kind: 'everything' }

/** Invalidations that every instance obeys when `obeyed` says so. */
function invalidations(applied: Promise<void> = Promise.resolve()) {
  const heard: Invalidation[] = []
  const port: Invalidations = {
    subscribe() {},
    isCurrent: () => true,
    publish(invalidation) {
      heard.push(invalidation)
      return applied
    },
  }
  return { ...port, heard }
}

describe('An announced change', () => {
  it('answers once it is committed and then obeyed by every instance', async () => {
    const applied = deferred<void>()
    const committed = deferred<string>()
    const all = invalidations(applied.promise)
    let answer: string | null = null
    const done = publishInvalidation(all, EVERYTHING, committed.promise).then((responded) => {
      answer = responded
    })
    await turn()
    assert.deepEqual(all.heard, [])
    committed.resolve('done')
    await turn()
    assert.deepEqual([all.heard, answer], [[EVERYTHING], null])
    applied.resolve()
    await done
    assert.equal(answer, 'done')
  })

  it('whose outcome is unknown is announced, and waits for nobody', async () => {
    const never = new Promise<void>(() => {})
    const all = invalidations(never)
    await assert.rejects(publishInvalidation(all, EVERYTHING, Promise.reject(new Unavailable())), Unavailable)
    assert.deepEqual(all.heard, [EVERYTHING])
  })

  it('whose outcome is unknown rejects with its own error when nobody can be told either', async () => {
    const all = invalidations(Promise.reject(new Error('nobody hears')))
    await assert.rejects(publishInvalidation(all, EVERYTHING, Promise.reject(new Unavailable())), Unavailable)
    await turn()
  })
})

describe('Announced login tokens', () => {
  const token = aLoginToken({ customerId: 'c1' })
  const digest = aDigest()
  const login = { token, digest, verifiedHash: 'hash' }
  const inner = (revoked: number | null): LoginTokens => ({
    findByDigest: async () => null,
    listByCustomer: async () => [token],
    add: async () => true,
    replace: async () => revoked,
    revoke: async () => revoked !== null,
    list: async () => ({ tokens: [], end: null }),
    revokeByCustomer: async () => revoked ?? 0,
    revokeIssuedBefore: async () => revoked ?? 0,
    touch: async () => [],
    prune: async () => 1,
  })

  for (const [revoked, heard] of [
    [1, [{ kind: 'customer', customerId: token.customerId }]],
    [0, [{ kind: 'customer', customerId: token.customerId }]],
    [null, []],
  ] as const) {
    it(`announce ${heard.length === 1 ? 'the customer' : 'nothing'} of a login that revoked ${revoked}`, async () => {
      const all = invalidations()
      assert.equal(await invalidatingLoginTokens(inner(revoked), all).replace(login, 1000), revoked)
      assert.deepEqual(all.heard, heard)
    })
  }

  it('announce a revoked digest, also when somebody else was first', async () => {
    for (const revoked of [1, null]) {
      const all = invalidations()
      await invalidatingLoginTokens(inner(revoked), all).revoke({ id: token.id, digest }, 0, 1000)
      assert.deepEqual(all.heard, [{ kind: 'digest', digest }])
    }
  })

  it('announce the customer whose tokens were revoked, also when somebody else was first', async () => {
    for (const revoked of [1, null]) {
      const all = invalidations()
      const tokens = invalidatingLoginTokens(inner(revoked), all)
      assert.equal(await tokens.revokeByCustomer('c1', { name: 'bot' }, 0, 1000), revoked ?? 0)
      assert.deepEqual(all.heard, [{ kind: 'customer', customerId: 'c1' }])
    }
  })

  it('announce everything when tokens were revoked by their age', async () => {
    const all = invalidations()
    assert.equal(
      await invalidatingLoginTokens(inner(3), all).revokeIssuedBefore(1, 2, { timeoutMs: 1000 }),
      3,
    )
    assert.deepEqual(all.heard, [{ kind: 'everything' }])
  })

  it('announce nothing of a look-up, a list, a token that is added, a touch or a prune', async () => {
    const all = invalidations()
    const tokens = invalidatingLoginTokens(inner(1), all)
    await tokens.findByDigest(digest, 1000)
    await tokens.listByCustomer(token.customerId, 1000)
    await tokens.add(token, digest, 1000)
    await tokens.list({ after: null, limit: 1 }, 1000)
    await tokens.touch([{ id: token.id, atMs: 1 }], 1000)
    await tokens.prune(1, 1, 1000)
    assert.deepEqual(all.heard, [])
  })
})
