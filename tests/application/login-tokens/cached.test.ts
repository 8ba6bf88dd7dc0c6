import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { memoryCustomers } from '../../../src/adapters/memory/customers.ts'
import { memoryInvalidations } from '../../../src/adapters/memory/invalidations.ts'
import { memoryLoginTokens } from '../../../src/adapters/memory/login-tokens.ts'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { nodeCache } from '../../../src/adapters/node-cache/cache.ts'
import { systemClock } from '../../../src/adapters/system-clock/clock.ts'
import { cachedLoginTokens } from '../../../src/application/login-tokens/cached.ts'
import type { CachedToken } from '../../../src/application/login-tokens/cached-token.ts'
import { invalidatingLoginTokens } from '../../../src/application/login-tokens/invalidating.ts'
import type { Invalidation, Invalidations } from '../../../src/application/ports/invalidations.ts'
import type { LoginTokens } from '../../../src/application/ports/login-tokens.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import type { OwnedToken } from '../../../src/domain/login-token.ts'
import { aCustomer, aDigest, aLoginToken } from '../../../src/testing/builders.ts'
import { loginTokensContract } from '../../../src/testing/contracts/login-tokens.ts'
import { type MovableClock, movableClock } from '../../../src/testing/movable-clock.ts'
import { type Deferred, deferred, mapCache, turn } from '../../support/fakes.ts'

loginTokensContract('the cache in front of the memory', async () => {
  const store = memoryStore()
  const invalidations = memoryInvalidations()
  return {
    customers: memoryCustomers(store),
    loginTokens: cachedLoginTokens(
      invalidatingLoginTokens(memoryLoginTokens(store), invalidations),
      nodeCache<CachedToken>({ maxEntries: 100 }),
      invalidations,
      systemClock,
      { ttlMs: 60_000 },
    ),
    dispose: async () => {},
  }
})

const TTL = 1000
const TIMEOUT_MS = 700
const DIGEST = aDigest()
const EVERYTHING: Invalidation = { kind: 'everything' }
const OF_DIGEST: Invalidation = { kind: 'digest', digest: DIGEST }
const OF_CUSTOMER: Invalidation = { kind: 'customer', customerId: 'c1' }

let clock: MovableClock
let invalidations: Invalidations
let cache: ReturnType<typeof mapCache<CachedToken>>
/** Every lookup that reached the store, in order; the test resolves it. */
let reads: (Deferred<OwnedToken | null> & { readonly digest: string; readonly timeoutMs: number })[]
/** Every change that reached the store, in order; the test resolves it. */
let changes: Deferred<boolean>[]
let tokens: LoginTokens

beforeEach(() => {
  clock = movableClock()
  invalidations = memoryInvalidations()
  cache = mapCache<CachedToken>(clock)
  reads = []
  changes = []
  tokens = cached()
})

function cached(different: { readonly invalidations?: Invalidations } = {}): LoginTokens {
  const change = () => {
    const result = deferred<boolean>()
    changes.push(result)
    return result.promise
  }
  const inner: LoginTokens = {
    findByDigest(digest, timeoutMs) {
      const read = { ...deferred<OwnedToken | null>(), digest, timeoutMs }
      reads.push(read)
      return read.promise
    },
    listByCustomer: async () => [],
    add: change,
    replace: async () => ((await change()) ? 1 : null),
    revoke: change,
    list: async () => ({ tokens: [], end: null }),
    revokeByCustomer: async () => ((await change()) ? 1 : 0),
    revokeIssuedBefore: async () => ((await change()) ? 1 : 0),
    touch: async () => [],
    prune: async () => 0,
    listSessions: async () => [],
    revokeIdle: async () => ({ revoked: 0, end: null }),
  }
  const published = different.invalidations ?? invalidations
  return cachedLoginTokens(invalidatingLoginTokens(inner, published), cache, published, clock, { ttlMs: TTL })
}

function owned(expiresInMs: number | null = 86_400_000): OwnedToken {
  const expiresAtMs = expiresInMs === null ? null : clock.nowMs() + expiresInMs
  return {
    token: aLoginToken({ customerId: 'c1', createdAtMs: clock.nowMs(), expiresAtMs }),
    customer: aCustomer({ id: 'c1' }),
  }
}

const find = (digest = DIGEST) => tokens.findByDigest(digest, TIMEOUT_MS)

/** Reads once, so that the result is cached if possible. */
async function fill(result: OwnedToken | null, digest = DIGEST): Promise<void> {
  const finding = find(digest)
  reads.at(-1)?.resolve(result)
  await finding
}

/** A cached validation has the same token and customer. */
function assertIs(found: OwnedToken | null, result: OwnedToken): void {
  assert.equal(found?.token, result.token)
  assert.equal(found?.customer, result.customer)
}

/** Returns whether a request that begins now is a cache hit. Resolves the lookup of a cache miss. */
async function isServedFromCache(digest = DIGEST): Promise<boolean> {
  const before = reads.length
  const finding = find(digest)
  reads[before]?.resolve(null)
  await finding
  return reads.length === before
}

describe('A lookup', () => {
  it('reads the store once and is then served from the cache', async () => {
    const result = owned()
    await fill(result)
    assertIs(await find(), result)
    assert.equal(await find(), await find())
    assert.equal(reads.length, 1)
    assert.equal(reads[0]?.timeoutMs, TIMEOUT_MS)
  })

  it('of another digest reads the store itself', async () => {
    await fill(owned())
    assert.equal(await isServedFromCache(aDigest()), false)
  })

  it('is shared by a thousand concurrent requests', async () => {
    const results = Array.from({ length: 1000 }, () => find())
    assert.equal(reads.length, 1)
    const result = owned()
    reads[0]?.resolve(result)
    for (const found of await Promise.all(results)) assertIs(found, result)
    assert.equal(reads.length, 1)
  })

  // Public case 049
  it('that finds nothing is not cached', async () => {
    await fill(null)
    assert.equal(await isServedFromCache(), false)
    assert.equal(cache.size, 0)
  })

  it('that fails also fails for all requests that share it, and is not cached', async () => {
    const joined = [find(), find()]
    const failure = new Unavailable()
    reads[0]?.reject(failure)
    for (const result of joined) await assert.rejects(Promise.resolve(result), failure)
    const result = owned()
    const again = find()
    assert.equal(reads.length, 2)
    reads[1]?.resolve(result)
    assertIs(await again, result)
    assert.equal(await isServedFromCache(), true)
  })

  it('that fails after it was overtaken does not affect the later one', async () => {
    const first = find()
    await invalidations.publish(OF_DIGEST)
    const second = find()
    reads[0]?.reject(new Unavailable())
    await assert.rejects(Promise.resolve(first))
    const joining = find()
    assert.equal(reads.length, 2)
    reads[1]?.resolve(owned())
    assert.equal(await joining, await second)
  })

  it('that succeeds after it was overtaken does not affect the later one', async () => {
    const first = find()
    await invalidations.publish(OF_DIGEST)
    const second = find()
    reads[0]?.resolve(owned())
    await first
    const joining = find()
    assert.equal(reads.length, 2)
    reads[1]?.resolve(null)
    assert.equal(await second, null)
    assert.equal(await joining, null)
  })

  for (const [what, dead] of [
    ['unknown', () => null],
    ['revoked', () => ({ ...owned(), token: { ...owned().token, revokedAtMs: 1 } })],
  ] as const) {
    it(`that finds the token ${what} removes the entry of a faster lookup`, async () => {
      const slow = find()
      await invalidations.publish({ kind: 'customer', customerId: 'c2' })
      await fill(owned())
      reads[0]?.resolve(dead())
      await slow
      assert.equal(await isServedFromCache(), false)
    })

    it(`that finds the token ${what} prevents the next one from being cached or shared`, async () => {
      const slow = find()
      await invalidations.publish({ kind: 'customer', customerId: 'c2' })
      const next = find()
      reads[0]?.resolve(dead())
      await slow
      const last = find()
      assert.equal(reads.length, 3)
      reads[1]?.resolve(owned())
      await next
      assert.equal(cache.size, 0)
      reads[2]?.resolve(null)
      assert.equal(await last, null)
    })
  }

  it('does not cache what does not authenticate', async () => {
    const active = owned()
    for (const result of [
      { ...active, token: { ...active.token, revokedAtMs: 1 } },
      { ...active, token: { ...active.token, expiresAtMs: clock.nowMs() } },
      { ...active, customer: { ...active.customer, disabledAtMs: 1 } },
    ]) {
      await fill(result)
      assert.equal(cache.size, 0)
      assert.equal(await isServedFromCache(), false)
    }
  })

  it('returns frozen values, including the first', async () => {
    const first = find()
    reads[0]?.resolve(owned())
    for (const result of [await first, await find()]) {
      assert.ok(result)
      for (const part of [result, result.token, result.token.abilities, result.customer]) {
        assert.ok(Object.isFrozen(part))
      }
    }
  })
})

describe('An invalidation', () => {
  for (const invalidation of [OF_DIGEST, OF_CUSTOMER, EVERYTHING]) {
    it(`of ${invalidation.kind} removes the cached entry`, async () => {
      await fill(owned())
      await invalidations.publish(invalidation)
      assert.equal(await isServedFromCache(), false)
    })

    // Public case 044
    it(`of ${invalidation.kind} prevents a lookup in progress from being cached or shared`, async () => {
      const old = owned()
      const before = find()
      await invalidations.publish(invalidation)
      const after = find()
      assert.equal(reads.length, 2, 'the later request shared a lookup that may have read the old state')
      reads[0]?.resolve(old)
      assert.equal(await before, old)
      assert.equal(cache.size, 0, 'what was read before was stored after')
      reads[1]?.resolve(null)
      assert.equal(await after, null)
      assert.equal(await isServedFromCache(), false)
    })

    it(`of ${invalidation.kind} does not affect lookups that begin after it`, async () => {
      const before = find()
      await invalidations.publish(invalidation)
      reads[0]?.resolve(owned())
      await before
      await fill(owned())
      assert.equal(await isServedFromCache(), true)
    })
  }

  it('also prevents caching when a lookup has been resolved but not yet stored', async () => {
    const before = find()
    reads[0]?.resolve(owned())
    // The lookup is resolved, and no waiting request has run yet.
    const published = invalidations.publish(OF_DIGEST)
    await Promise.all([before, published])
    assert.equal(cache.size, 0)
  })

  it('of another digest or customer does not remove the entry', async () => {
    await fill(owned())
    await invalidations.publish({ kind: 'digest', digest: aDigest() })
    await invalidations.publish({ kind: 'customer', customerId: 'c2' })
    assert.equal(await isServedFromCache(), true)
  })

  it('of another digest does not affect a lookup in progress; one of another customer does', async () => {
    const [first, second] = [aDigest(), aDigest()]
    const finding = find(first)
    await invalidations.publish({ kind: 'digest', digest: second })
    reads[0]?.resolve(owned())
    await finding
    assert.equal(await isServedFromCache(first), true)

    const other = find(second)
    // The owner of the token is not known before the lookup returns.
    await invalidations.publish({ kind: 'customer', customerId: 'c2' })
    reads[1]?.resolve(owned())
    await other
    assert.equal(await isServedFromCache(second), false)
  })

  it('of a customer removes every token of that customer and of no other', async () => {
    const digests = Array.from({ length: 20 }, aDigest)
    for (const digest of digests) await fill(owned(), digest)
    const stranger = aDigest()
    await fill({ token: aLoginToken({ customerId: 'c2' }), customer: aCustomer({ id: 'c2' }) }, stranger)
    await invalidations.publish(OF_CUSTOMER)
    assert.equal(cache.size, 1)
    for (const digest of digests) assert.equal(await isServedFromCache(digest), false)
    assert.equal(await isServedFromCache(stranger), true)
  })

  it('of a customer also finds a token whose entry was replaced or read again after a clear', async () => {
    await fill(owned())
    await invalidations.publish(EVERYTHING)
    await fill(owned())
    clock.advance(TTL)
    await fill(owned())
    await invalidations.publish(OF_CUSTOMER)
    assert.equal(cache.size, 0)
    assert.equal(await isServedFromCache(), false)
  })

  it('for an unknown token is no error', async () => {
    for (const invalidation of [OF_DIGEST, OF_CUSTOMER, EVERYTHING]) await invalidations.publish(invalidation)
  })
})

describe('A cache entry', () => {
  it('is used until the millisecond before it expires', async () => {
    await fill(owned())
    clock.advance(TTL - 1)
    assert.equal(await isServedFromCache(), true)
    clock.advance(1)
    assert.equal(await isServedFromCache(), false)
  })

  it('ages from the moment before it was read, not from the result', async () => {
    const finding = find()
    clock.advance(600)
    reads[0]?.resolve(owned())
    await finding
    clock.advance(399)
    assert.equal(await isServedFromCache(), true)
    clock.advance(1)
    assert.equal(await isServedFromCache(), false)
  })

  it('is not stored when the lookup took as long as its lifetime', async () => {
    const finding = find()
    clock.advance(TTL)
    const result = owned()
    reads[0]?.resolve(result)
    assert.equal(await finding, result)
    assert.equal(cache.size, 0)
    // The token is not indexed under its customer either.
    cache.delete = () => assert.fail()
    await invalidations.publish(OF_CUSTOMER)
  })

  it('is not used longer because the wall clock was set back', async () => {
    await fill(owned())
    clock.setWall(-3_600_000)
    clock.advance(TTL - 1)
    assert.equal(await isServedFromCache(), true)
    clock.advance(1)
    assert.equal(await isServedFromCache(), false)
  })

  it('expires with its token if that is earlier', async () => {
    await fill(owned(300))
    clock.advance(299)
    assert.equal(await isServedFromCache(), true)
    clock.advance(1)
    assert.equal(await isServedFromCache(), false)
  })

  it('of a token that never expires has a limited lifetime too', async () => {
    await fill(owned(null))
    clock.advance(TTL - 1)
    assert.equal(await isServedFromCache(), true)
    clock.advance(1)
    assert.equal(await isServedFromCache(), false)
  })

  it('is not used after its lifetime when another process changed the token', async () => {
    await fill(owned())
    const revoked = owned()
    clock.advance(TTL)
    const finding = find()
    reads[1]?.resolve({ ...revoked, token: { ...revoked.token, revokedAtMs: clock.nowMs() } })
    assert.notEqual((await finding)?.token.revokedAtMs, null)
  })
})

describe('A change', () => {
  const replace = () => {
    const { token } = owned()
    return tokens.replace({ token, digest: aDigest(), verifiedHash: 'hash' }, TIMEOUT_MS)
  }
  const revoke = () => tokens.revoke({ id: 't1', digest: DIGEST }, clock.nowMs(), TIMEOUT_MS)

  for (const [name, change, invalidation] of [
    ['replace', replace, OF_CUSTOMER],
    ['revoke', revoke, OF_DIGEST],
    ['revokeOf', () => tokens.revokeByCustomer('c1', {}, 1, TIMEOUT_MS), OF_CUSTOMER],
    ['revokeIssuedBefore', () => tokens.revokeIssuedBefore(1, 1, { timeoutMs: TIMEOUT_MS }), EVERYTHING],
  ] as const) {
    it(`is committed, then published, then acknowledged: ${name}`, async () => {
      const steps: string[] = []
      const applied = deferred<void>()
      tokens = cached({
        invalidations: {
          subscribe() {},
          isCurrent: () => true,
          async publish(published) {
            assert.deepEqual(published, invalidation)
            steps.push('published')
            await applied.promise
            steps.push('applied')
          },
        },
      })
      const acknowledged = change().then((result) => {
        assert.ok(result)
        steps.push('acknowledged')
      })
      await turn()
      assert.equal(steps.length, 0)
      steps.push('committed')
      changes[0]?.resolve(true)
      await turn()
      assert.deepEqual(steps, ['committed', 'published'])
      applied.resolve()
      await acknowledged
      assert.deepEqual(steps, ['committed', 'published', 'applied', 'acknowledged'])
    })

    it(`leaves cached entries in place until it is committed: ${name}`, async () => {
      await fill(owned())
      const changing = change()
      await turn()
      assert.equal(await isServedFromCache(), true)
      changes[0]?.resolve(true)
      await changing
      assert.equal(await isServedFromCache(), false)
    })

    it(`prevents caching of what is read between commit and acknowledgement: ${name}`, async () => {
      const changing = change()
      const reading = find()
      changes[0]?.resolve(true)
      await changing
      reads[0]?.resolve(owned())
      await reading
      assert.equal(cache.size, 0)
      assert.equal(await isServedFromCache(), false)
    })

    it(`with an unknown outcome removes the cached entry and passes the error on: ${name}`, async () => {
      await fill(owned())
      const failure = new Unavailable()
      const changing = change()
      changes[0]?.reject(failure)
      await assert.rejects(changing, failure)
      assert.equal(await isServedFromCache(), false)
    })
  }

  it('that finds the token already revoked removes it too, and waits until every instance has applied that', async () => {
    await fill(owned())
    const changing = revoke()
    changes[0]?.resolve(false)
    assert.equal(await changing, false)
    assert.equal(await isServedFromCache(), false)
  })

  it('that was refused or replaced nothing publishes nothing', async () => {
    const silent = { ...invalidations, publish: () => assert.fail('published') }
    tokens = cached({ invalidations: silent })
    const refused = replace()
    changes[0]?.resolve(false)
    assert.equal(await refused, null)
  })

  it('with an unknown outcome is applied here and does not wait for other instances', async () => {
    await fill(owned())
    const deaf = { ...invalidations, publish: () => new Promise<void>(() => {}) }
    tokens = cached({ invalidations: deaf })
    const changing = revoke()
    changes[0]?.reject(new Unavailable())
    await assert.rejects(changing, Unavailable)
  })

  it('that adds a token removes no entry', async () => {
    await fill(owned())
    const adding = tokens.add(aLoginToken({ customerId: 'c1', name: 'bot' }), aDigest(), TIMEOUT_MS)
    changes[0]?.resolve(true)
    assert.equal(await adding, true)
    assert.equal(await isServedFromCache(), true)
  })
})

describe('The index of customers in the cache', () => {
  const come = async (count: number, customerId?: string) => {
    for (let round = 0; round < count; round++) {
      const customer = aCustomer(customerId === undefined ? {} : { id: customerId })
      await fill({ token: aLoginToken({ customerId: customer.id }), customer }, aDigest())
      reads.length = 0
    }
  }

  it('shrinks with each token that was evicted, expired or replaced', async () => {
    cache = mapCache<CachedToken>(clock, 10)
    const drop = cache.delete
    let dropped = 0
    cache.delete = (key) => {
      dropped += 1
      drop(key)
    }
    tokens = cached()
    await come(500, 'c1')
    await invalidations.publish(OF_CUSTOMER)
    assert.equal(dropped, 10)
    await invalidations.publish(OF_CUSTOMER)
    assert.equal(dropped, 10)
    await come(5, 'c1')
    await invalidations.publish(EVERYTHING)
    await invalidations.publish(OF_CUSTOMER)
    assert.equal(dropped, 10)
  })

  it('does not grow with customers that came and left', async () => {
    cache = mapCache<CachedToken>(clock, 10)
    tokens = cached()
    await come(2000)
    const before = usedBytes()
    await come(30_000)
    const grown = usedBytes() - before
    // The index of a customer takes about 400 bytes: 12 MB for 30,000 of them.
    assert.ok(grown < 3_000_000, `${grown} bytes`)
  })
})

function usedBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

describe('While the invalidations are not current', () => {
  let isCurrent = true
  beforeEach(() => {
    isCurrent = true
    tokens = cached({ invalidations: { ...invalidations, isCurrent: () => isCurrent } })
  })

  it('no cached entry is used; it is used again when they are current', async () => {
    await fill(owned())
    isCurrent = false
    const finding = find()
    assert.equal(reads.length, 2)
    reads[1]?.resolve(owned())
    await finding
    isCurrent = true
    assert.equal(await isServedFromCache(), true)
  })

  it('a lookup in progress is not shared, even one that was sent while they were current', async () => {
    const first = find()
    assert.equal(reads.length, 1)
    isCurrent = false
    const second = find()
    assert.equal(reads.length, 2)
    reads[0]?.resolve(owned())
    reads[1]?.resolve(null)
    assert.notEqual(await first, null)
    assert.equal(await second, null)
  })

  it('the later of two lookups is the one that is cached and invalidated', async () => {
    isCurrent = false
    const first = find()
    const second = find()
    isCurrent = true
    await invalidations.publish(OF_DIGEST)
    for (const read of reads) read.resolve(owned())
    await Promise.all([first, second])
    assert.equal(await isServedFromCache(), false)
  })
})
