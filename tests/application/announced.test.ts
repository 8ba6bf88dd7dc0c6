import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { announced, announcedLoginTokens } from '../../src/application/announced.ts'
import type { Invalidation, Invalidations } from '../../src/application/ports/invalidations.ts'
import type { LoginTokens } from '../../src/application/ports/login-tokens.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { aDigest, aLoginToken } from '../../src/testing/builders.ts'
import { deferred, turn } from '../support/fakes.ts'

const EVERYTHING: Invalidation = { kind: 'everything' }

/** Invalidations that every instance obeys when `obeyed` says so. */
function invalidations(obeyed: Promise<void> = Promise.resolve()) {
  const heard: Invalidation[] = []
  const port: Invalidations = {
    subscribe() {},
    isCurrent: () => true,
    announce(invalidation) {
      heard.push(invalidation)
      return obeyed
    },
  }
  return { ...port, heard }
}

describe('An announced change', () => {
  it('answers once it is committed and then obeyed by every instance', async () => {
    const obeyed = deferred<void>()
    const committed = deferred<string>()
    const all = invalidations(obeyed.promise)
    let answer: string | null = null
    const done = announced(all, EVERYTHING, committed.promise).then((answered) => {
      answer = answered
    })
    await turn()
    assert.deepEqual(all.heard, [])
    committed.resolve('done')
    await turn()
    assert.deepEqual([all.heard, answer], [[EVERYTHING], null])
    obeyed.resolve()
    await done
    assert.equal(answer, 'done')
  })

  it('whose outcome is unknown is announced, and waits for nobody', async () => {
    const never = new Promise<void>(() => {})
    const all = invalidations(never)
    await assert.rejects(announced(all, EVERYTHING, Promise.reject(new Unavailable())), Unavailable)
    assert.deepEqual(all.heard, [EVERYTHING])
  })

  it('whose outcome is unknown rejects with its own error when nobody can be told either', async () => {
    const all = invalidations(Promise.reject(new Error('nobody hears')))
    await assert.rejects(announced(all, EVERYTHING, Promise.reject(new Unavailable())), Unavailable)
    await turn()
  })
})

describe('Announced login tokens', () => {
  const token = aLoginToken({ customerId: 'c1' })
  const digest = aDigest()
  const login = { token, digest, verifiedHash: 'hash' }
  const inner = (revoked: number | null): LoginTokens => ({
    findByDigest: async () => null,
    listOf: async () => [token],
    add: async () => true,
    replace: async () => revoked,
    revoke: async () => revoked !== null,
    list: async () => ({ tokens: [], end: null }),
    revokeOf: async () => revoked ?? 0,
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
      assert.equal(await announcedLoginTokens(inner(revoked), all).replace(login, 1000), revoked)
      assert.deepEqual(all.heard, heard)
    })
  }

  it('announce a revoked digest, also when somebody else was first', async () => {
    for (const revoked of [1, null]) {
      const all = invalidations()
      await announcedLoginTokens(inner(revoked), all).revoke({ id: token.id, digest }, 0, 1000)
      assert.deepEqual(all.heard, [{ kind: 'digest', digest }])
    }
  })

  it('announce the customer whose tokens were revoked, also when somebody else was first', async () => {
    for (const revoked of [1, null]) {
      const all = invalidations()
      const tokens = announcedLoginTokens(inner(revoked), all)
      assert.equal(await tokens.revokeOf('c1', { name: 'bot' }, 0, 1000), revoked ?? 0)
      assert.deepEqual(all.heard, [{ kind: 'customer', customerId: 'c1' }])
    }
  })

  it('announce everything when tokens were revoked by their age', async () => {
    const all = invalidations()
    assert.equal(await announcedLoginTokens(inner(3), all).revokeIssuedBefore(1, 2, { waitMs: 1000 }), 3)
    assert.deepEqual(all.heard, [{ kind: 'everything' }])
  })

  it('announce nothing of a look-up, a list, a token that is added, a touch or a prune', async () => {
    const all = invalidations()
    const tokens = announcedLoginTokens(inner(1), all)
    await tokens.findByDigest(digest, 1000)
    await tokens.listOf(token.customerId, 1000)
    await tokens.add(token, digest, 1000)
    await tokens.list({ after: null, limit: 1 }, 1000)
    await tokens.touch([{ id: token.id, atMs: 1 }], 1000)
    await tokens.prune(1, 1, 1000)
    assert.deepEqual(all.heard, [])
  })
})
