import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  invalidatingCustomers,
  invalidatingLoginTokens,
  publishInvalidation,
} from '../../../src/application/login-tokens/invalidating.ts'
import type { Customers } from '../../../src/application/ports/customers.ts'
import type { Invalidation, Invalidations } from '../../../src/application/ports/invalidations.ts'
import type { LoginTokens } from '../../../src/application/ports/login-tokens.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { aCustomer, aDigest, aLoginToken } from '../../../src/testing/builders.ts'
import { deferred, turn } from '../../support/fakes.ts'

const EVERYTHING: Invalidation = { kind: 'everything' }

/** An invalidation port that records each publication. Every instance has applied it when `applied` resolves. */
function invalidations(applied: Promise<void> = Promise.resolve()) {
  const published: Invalidation[] = []
  const port: Invalidations = {
    subscribe() {},
    isCurrent: () => true,
    publish(invalidation) {
      published.push(invalidation)
      return applied
    },
  }
  return { ...port, published }
}

describe('A published change', () => {
  it('resolves after its commit, once every instance has applied the invalidation', async () => {
    const applied = deferred<void>()
    const committed = deferred<string>()
    const all = invalidations(applied.promise)
    let result: string | null = null
    const done = publishInvalidation(all, EVERYTHING, committed.promise).then((value) => {
      result = value
    })
    await turn()
    assert.deepEqual(all.published, [])
    committed.resolve('done')
    await turn()
    assert.deepEqual([all.published, result], [[EVERYTHING], null])
    applied.resolve()
    await done
    assert.equal(result, 'done')
  })

  it('is published when its outcome is unknown, without waiting for other instances', async () => {
    const never = new Promise<void>(() => {})
    const all = invalidations(never)
    await assert.rejects(publishInvalidation(all, EVERYTHING, Promise.reject(new Unavailable())), Unavailable)
    assert.deepEqual(all.published, [EVERYTHING])
  })

  it('rejects with its own error when its outcome is unknown and publishing fails too', async () => {
    const all = invalidations(Promise.reject(new Error('publishing failed')))
    await assert.rejects(publishInvalidation(all, EVERYTHING, Promise.reject(new Unavailable())), Unavailable)
    await turn()
  })
})

describe('Invalidating login tokens', () => {
  const token = aLoginToken({ customerId: 'c1' })
  const digest = aDigest()
  const login = { token, digest, verifiedHash: 'hash' }
  const inner = (revoked: number | 'full' | null): LoginTokens => ({
    findByDigest: async () => null,
    listByCustomer: async () => [token],
    add: async () => true,
    replace: async () => revoked,
    revoke: async () => revoked !== null,
    list: async () => ({ tokens: [], end: null }),
    revokeByCustomer: async () => Number(revoked ?? 0),
    revokeIssuedBefore: async () => Number(revoked ?? 0),
    touch: async () => [],
    prune: async () => 1,
    listSessions: async () => [token],
    revokeIdle: async () => ({ revoked: 1, end: null }),
  })

  for (const [revoked, published] of [
    [1, [{ kind: 'customer', customerId: token.customerId }]],
    [0, [{ kind: 'customer', customerId: token.customerId }]],
    [null, []],
    ['full', []],
  ] as const) {
    it(`publish ${published.length === 1 ? 'the customer' : 'nothing'} of a login that revoked ${revoked}`, async () => {
      const all = invalidations()
      assert.equal(await invalidatingLoginTokens(inner(revoked), all).replace(login, 1000), revoked)
      assert.deepEqual(all.published, published)
    })
  }

  it('publish a revoked digest, even if the token was already revoked', async () => {
    for (const revoked of [1, null]) {
      const all = invalidations()
      await invalidatingLoginTokens(inner(revoked), all).revoke({ id: token.id, digest }, 0, 1000)
      assert.deepEqual(all.published, [{ kind: 'digest', digest }])
    }
  })

  it('publish the customer of revoked tokens, even if they were already revoked', async () => {
    for (const revoked of [1, null]) {
      const all = invalidations()
      const tokens = invalidatingLoginTokens(inner(revoked), all)
      assert.equal(await tokens.revokeByCustomer('c1', { name: 'bot' }, 0, 1000), revoked ?? 0)
      assert.deepEqual(all.published, [{ kind: 'customer', customerId: 'c1' }])
    }
  })

  it('publish "everything" when tokens are revoked by age', async () => {
    const all = invalidations()
    assert.equal(
      await invalidatingLoginTokens(inner(3), all).revokeIssuedBefore(1, 2, { timeoutMs: 1000 }),
      3,
    )
    assert.deepEqual(all.published, [{ kind: 'everything' }])
  })

  it('publish nothing for a lookup, a list, a new token, a touch or a prune', async () => {
    const all = invalidations()
    const tokens = invalidatingLoginTokens(inner(1), all)
    await tokens.findByDigest(digest, 1000)
    await tokens.listByCustomer(token.customerId, 1000)
    await tokens.add(token, digest, 1000)
    await tokens.list({ after: null, limit: 1 }, 1000)
    await tokens.touch([{ id: token.id, atMs: 1 }], 1000)
    await tokens.prune(1, 1, 1000)
    assert.deepEqual(all.published, [])
  })
})

describe('Invalidating customers', () => {
  const publishes: Invalidation = { kind: 'customer', customerId: 'c1' }
  const inner = (revoked: number | null): Customers => ({
    findByEmail: async () => null,
    findById: async () => null,
    add: async () => true,
    addMany: async () => [true],
    list: async () => [],
    setPasswordHash: async () => revoked,
    rehash: async () => true,
    changePassword: async () => revoked,
    resetPassword: async () => revoked,
    disable: async () => revoked,
    enable: async () => true,
    delete: async () => revoked !== null,
  })

  const change = {
    customerId: 'c1',
    verifiedHash: 'hash',
    passwordHash: 'other hash',
    keepTokenId: 't1',
    atMs: 0,
  }

  const reset = { customerId: 'c1', purpose: 'reset', digest: aDigest(), passwordHash: 'other hash', atMs: 0 }

  it('publish the customer of a new password, a disable and a delete, even if nothing was revoked', async () => {
    for (const revoked of [1, 0, null]) {
      const all = invalidations()
      const customers = invalidatingCustomers(inner(revoked), all)
      assert.equal(await customers.setPasswordHash('c1', 'hash', 0, 1000), revoked)
      assert.equal(await customers.changePassword(change, 1000), revoked)
      assert.equal(await customers.resetPassword(reset, 1000), revoked)
      assert.equal(await customers.disable('c1', 0, 1000), revoked)
      assert.equal(await customers.delete('c1', 1000), revoked !== null)
      assert.deepEqual(all.published, Array(5).fill(publishes))
    }
  })

  it('publish nothing for a lookup, a new customer, a list, a rehash or an enable', async () => {
    const all = invalidations()
    const customers = invalidatingCustomers(inner(1), all)
    const credentials = { customer: aCustomer(), passwordHash: null }
    await customers.findByEmail('ana@example.com', 1000)
    await customers.add(credentials, 1000)
    await customers.addMany([credentials], 1000)
    await customers.list({ afterEmail: null, limit: 1 }, 1000)
    await customers.rehash('c1', 'hash', 'other hash', 1000)
    await customers.enable('c1', 1000)
    assert.deepEqual(all.published, [])
  })
})
