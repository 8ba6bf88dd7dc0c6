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
import { type CachedToken, cachedLoginTokens } from '../../../src/application/login-tokens/cached.ts'
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
      memoryLoginTokens(store),
      nodeCache<CachedToken>({ maxEntries: 100 }),
      invalidations,
      systemClock,
      { ttlMs: 60_000 },
    ),
    dispose: async () => {},
  }
})

const TTL = 1000
const WAIT = 700
const DIGEST = aDigest()
const EVERYTHING: Invalidation = { kind: 'everything' }
const OF_DIGEST: Invalidation = { kind: 'digest', digest: DIGEST }
const OF_CUSTOMER: Invalidation = { kind: 'customer', customerId: 'c1' }

let clock: MovableClock
let invalidations: Invalidations
let cache: ReturnType<typeof mapCache<CachedToken>>
/** Every look-up that reached the store, in order, to be answered by the test. */
let reads: (Deferred<OwnedToken | null> & { readonly digest: string; readonly timeoutMs: number })[]
/** Every change that reached the store, in order, to be answered by the test. */
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
    const answer = deferred<boolean>()
    changes.push(answer)
    return answer.promise
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
  }
  return cachedLoginTokens(inner, cache, different.invalidations ?? invalidations, clock, { ttlMs: TTL })
}

function owned(expiresInMs: number | null = 86_400_000): OwnedToken {
  const expiresAtMs = expiresInMs === null ? null : clock.nowMs() + expiresInMs
  return {
    token: aLoginToken({ customerId: 'c1', createdAtMs: clock.nowMs(), expiresAtMs }),
    customer: aCustomer({ id: 'c1' }),
  }
}

const find = (digest = DIGEST) => tokens.findByDigest(digest, WAIT)

/** Reads once, so that the answer is kept if it may be. */
async function fill(answer: OwnedToken | null, digest = DIGEST): Promise<void> {
  const finding = find(digest)
  reads.at(-1)?.resolve(answer)
  await finding
}

/** Whether a request that begins now is served without asking the store; answers the question that it asked. */
async function isServedFromCache(digest = DIGEST): Promise<boolean> {
  const before = reads.length
  const finding = find(digest)
  reads[before]?.resolve(null)
  await finding
  return reads.length === before
}

describe('A look-up', () => {
  it('asks the store once and is served from the cache after', async () => {
    const answer = owned()
    await fill(answer)
    assert.deepEqual(await find(), answer)
    assert.equal(await find(), await find())
    assert.equal(reads.length, 1)
    assert.equal(reads[0]?.timeoutMs, WAIT)
  })

  it('of another digest asks for itself', async () => {
    await fill(owned())
    assert.equal(await isServedFromCache(aDigest()), false)
  })

  it('joins one that is under way, and a thousand do', async () => {
    const answers = Array.from({ length: 1000 }, () => find())
    assert.equal(reads.length, 1)
    const answer = owned()
    reads[0]?.resolve(answer)
    for (const found of await Promise.all(answers)) assert.equal(found, answer)
    assert.equal(reads.length, 1)
  })

  it('case 049: that finds nothing is not remembered', async () => {
    await fill(null)
    assert.equal(await isServedFromCache(), false)
    assert.equal(cache.size, 0)
  })

  it('that fails, fails for all that joined it and is not remembered', async () => {
    const joined = [find(), find()]
    const failure = new Unavailable()
    reads[0]?.reject(failure)
    for (const answer of joined) await assert.rejects(Promise.resolve(answer), failure)
    const answer = owned()
    const again = find()
    assert.equal(reads.length, 2)
    reads[1]?.resolve(answer)
    assert.equal(await again, answer)
    assert.equal(await isServedFromCache(), true)
  })

  it('that fails after it was overtaken leaves the later one alone', async () => {
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

  it('that succeeds after it was overtaken leaves the later one alone', async () => {
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
    it(`that finds the token ${what} drops what a faster one has stored`, async () => {
      const slow = find()
      await invalidations.publish({ kind: 'customer', customerId: 'c2' })
      await fill(owned())
      reads[0]?.resolve(dead())
      await slow
      assert.equal(await isServedFromCache(), false)
    })

    it(`that finds the token ${what} keeps the next one from being stored or joined`, async () => {
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

  it('keeps nothing that does not authenticate', async () => {
    const active = owned()
    for (const answer of [
      { ...active, token: { ...active.token, revokedAtMs: 1 } },
      { ...active, token: { ...active.token, expiresAtMs: clock.nowMs() } },
      { ...active, customer: { ...active.customer, disabledAtMs: 1 } },
    ]) {
      await fill(answer)
      assert.equal(cache.size, 0)
      assert.equal(await isServedFromCache(), false)
    }
  })

  it('gives frozen values, the first time too', async () => {
    const first = find()
    reads[0]?.resolve(owned())
    for (const answer of [await first, await find()]) {
      assert.ok(answer)
      for (const part of [answer, answer.token, answer.token.abilities, answer.customer]) {
        assert.ok(Object.isFrozen(part))
      }
    }
  })
})

describe('An invalidation', () => {
  for (const invalidation of [OF_DIGEST, OF_CUSTOMER, EVERYTHING]) {
    it(`of ${invalidation.kind} drops what is kept`, async () => {
      await fill(owned())
      await invalidations.publish(invalidation)
      assert.equal(await isServedFromCache(), false)
    })

    it(`case 044: of ${invalidation.kind} keeps a look-up under way from being stored or joined`, async () => {
      const old = owned()
      const before = find()
      await invalidations.publish(invalidation)
      const after = find()
      assert.equal(reads.length, 2, 'the later request joined the look-up that may have read what was')
      reads[0]?.resolve(old)
      assert.equal(await before, old)
      assert.equal(cache.size, 0, 'what was read before was stored after')
      reads[1]?.resolve(null)
      assert.equal(await after, null)
      assert.equal(await isServedFromCache(), false)
    })

    it(`of ${invalidation.kind} does not hinder the look-ups that begin after it`, async () => {
      const before = find()
      await invalidations.publish(invalidation)
      reads[0]?.resolve(owned())
      await before
      await fill(owned())
      assert.equal(await isServedFromCache(), true)
    })
  }

  it('while a look-up has been answered but not yet stored marks it too', async () => {
    const before = find()
    reads[0]?.resolve(owned())
    // The answer has arrived, and nobody who waits for it has run yet.
    const published = invalidations.publish(OF_DIGEST)
    await Promise.all([before, published])
    assert.equal(cache.size, 0)
  })

  it('of another digest or customer leaves what is kept', async () => {
    await fill(owned())
    await invalidations.publish({ kind: 'digest', digest: aDigest() })
    await invalidations.publish({ kind: 'customer', customerId: 'c2' })
    assert.equal(await isServedFromCache(), true)
  })

  it('of another digest leaves a look-up under way, of another customer does not', async () => {
    const [first, second] = [aDigest(), aDigest()]
    const finding = find(first)
    await invalidations.publish({ kind: 'digest', digest: second })
    reads[0]?.resolve(owned())
    await finding
    assert.equal(await isServedFromCache(first), true)

    const other = find(second)
    // Whose token it reads cannot be known yet.
    await invalidations.publish({ kind: 'customer', customerId: 'c2' })
    reads[1]?.resolve(owned())
    await other
    assert.equal(await isServedFromCache(second), false)
  })

  it('of a customer drops every token of that customer and of nobody else', async () => {
    const digests = Array.from({ length: 20 }, aDigest)
    for (const digest of digests) await fill(owned(), digest)
    const stranger = aDigest()
    await fill({ token: aLoginToken({ customerId: 'c2' }), customer: aCustomer({ id: 'c2' }) }, stranger)
    await invalidations.publish(OF_CUSTOMER)
    assert.equal(cache.size, 1)
    for (const digest of digests) assert.equal(await isServedFromCache(digest), false)
    assert.equal(await isServedFromCache(stranger), true)
  })

  it('of a customer still finds a token whose entry was replaced, or was read again after a clear', async () => {
    await fill(owned())
    await invalidations.publish(EVERYTHING)
    await fill(owned())
    clock.advance(TTL)
    await fill(owned())
    await invalidations.publish(OF_CUSTOMER)
    assert.equal(cache.size, 0)
    assert.equal(await isServedFromCache(), false)
  })

  it('that nobody looks for is no error', async () => {
    for (const invalidation of [OF_DIGEST, OF_CUSTOMER, EVERYTHING]) await invalidations.publish(invalidation)
  })
})

describe('An entry', () => {
  it('is used until the millisecond before its life ends', async () => {
    await fill(owned())
    clock.advance(TTL - 1)
    assert.equal(await isServedFromCache(), true)
    clock.advance(1)
    assert.equal(await isServedFromCache(), false)
  })

  it('counts its life from the moment before it was read, not from the answer', async () => {
    const finding = find()
    clock.advance(600)
    reads[0]?.resolve(owned())
    await finding
    clock.advance(399)
    assert.equal(await isServedFromCache(), true)
    clock.advance(1)
    assert.equal(await isServedFromCache(), false)
  })

  it('is not made when the answer took as long as it may live', async () => {
    const finding = find()
    clock.advance(TTL)
    const answer = owned()
    reads[0]?.resolve(answer)
    assert.equal(await finding, answer)
    assert.equal(cache.size, 0)
    // Nor is it known as one of its customer's.
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

  it('ends with its token, when that is earlier', async () => {
    await fill(owned(300))
    clock.advance(299)
    assert.equal(await isServedFromCache(), true)
    clock.advance(1)
    assert.equal(await isServedFromCache(), false)
  })

  it('of a token that never expires ends all the same', async () => {
    await fill(owned(null))
    clock.advance(TTL - 1)
    assert.equal(await isServedFromCache(), true)
    clock.advance(1)
    assert.equal(await isServedFromCache(), false)
  })

  it('of which another process changed the token is not used past its life', async () => {
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
    return tokens.replace({ token, digest: aDigest(), verifiedHash: 'hash' }, WAIT)
  }
  const revoke = () => tokens.revoke({ id: 't1', digest: DIGEST }, clock.nowMs(), WAIT)

  for (const [name, change, invalidation] of [
    ['replace', replace, OF_CUSTOMER],
    ['revoke', revoke, OF_DIGEST],
    ['revokeOf', () => tokens.revokeByCustomer('c1', {}, 1, WAIT), OF_CUSTOMER],
    ['revokeIssuedBefore', () => tokens.revokeIssuedBefore(1, 1, { timeoutMs: WAIT }), EVERYTHING],
  ] as const) {
    it(`is committed, then announced, then acknowledged: ${name}`, async () => {
      const steps: string[] = []
      const applied = deferred<void>()
      tokens = cached({
        invalidations: {
          subscribe() {},
          isCurrent: () => true,
          async publish(published) {
            assert.deepEqual(published, invalidation)
            steps.push('announced')
            await applied.promise
            steps.push('obeyed')
          },
        },
      })
      const acknowledged = change().then((answer) => {
        assert.ok(answer)
        steps.push('acknowledged')
      })
      await turn()
      assert.equal(steps.length, 0)
      steps.push('committed')
      changes[0]?.resolve(true)
      await turn()
      assert.deepEqual(steps, ['committed', 'announced'])
      applied.resolve()
      await acknowledged
      assert.deepEqual(steps, ['committed', 'announced', 'obeyed', 'acknowledged'])
    })

    it(`leaves what is kept until it is committed: ${name}`, async () => {
      await fill(owned())
      const changing = change()
      await turn()
      assert.equal(await isServedFromCache(), true)
      changes[0]?.resolve(true)
      await changing
      assert.equal(await isServedFromCache(), false)
    })

    it(`keeps what is read between commit and acknowledgement out of the cache: ${name}`, async () => {
      const changing = change()
      const reading = find()
      changes[0]?.resolve(true)
      await changing
      reads[0]?.resolve(owned())
      await reading
      assert.equal(cache.size, 0)
      assert.equal(await isServedFromCache(), false)
    })

    it(`whose outcome is unknown drops what is kept and passes the error on: ${name}`, async () => {
      await fill(owned())
      const failure = new Unavailable()
      const changing = change()
      changes[0]?.reject(failure)
      await assert.rejects(changing, failure)
      assert.equal(await isServedFromCache(), false)
    })
  }

  it('that found the token revoked by somebody else drops it too, and waits until every instance obeys', async () => {
    await fill(owned())
    const changing = revoke()
    changes[0]?.resolve(false)
    assert.equal(await changing, false)
    assert.equal(await isServedFromCache(), false)
  })

  it('that was refused, or replaced nothing, announces nothing', async () => {
    const silent = { ...invalidations, publish: () => assert.fail('announced') }
    tokens = cached({ invalidations: silent })
    const refused = replace()
    changes[0]?.resolve(false)
    assert.equal(await refused, null)
  })

  it('whose outcome is unknown is obeyed here, and waits for no other instance', async () => {
    await fill(owned())
    const deaf = { ...invalidations, publish: () => new Promise<void>(() => {}) }
    tokens = cached({ invalidations: deaf })
    const changing = revoke()
    changes[0]?.reject(new Unavailable())
    await assert.rejects(changing, Unavailable)
  })

  it('that adds a token drops nothing', async () => {
    await fill(owned())
    const adding = tokens.add(aLoginToken({ customerId: 'c1', name: 'bot' }), aDigest(), WAIT)
    changes[0]?.resolve(true)
    assert.equal(await adding, true)
    assert.equal(await isServedFromCache(), true)
  })
})

describe('What the cache knows of customers', () => {
  const come = async (count: number, customerId?: string) => {
    for (let round = 0; round < count; round++) {
      const customer = aCustomer(customerId === undefined ? {} : { id: customerId })
      await fill({ token: aLoginToken({ customerId: customer.id }), customer }, aDigest())
      reads.length = 0
    }
  }

  it('ends with each token that was evicted, expired or replaced', async () => {
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

  it('does not grow with customers that came and went', async () => {
    cache = mapCache<CachedToken>(clock, 10)
    tokens = cached()
    await come(2000)
    const before = usedBytes()
    await come(30_000)
    const grown = usedBytes() - before
    // What is known of a customer takes some 400 bytes: 30,000 of them 12 MB.
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

  it('nothing that was kept is used, and it is used again when they are', async () => {
    await fill(owned())
    isCurrent = false
    const finding = find()
    assert.equal(reads.length, 2)
    reads[1]?.resolve(owned())
    await finding
    isCurrent = true
    assert.equal(await isServedFromCache(), true)
  })

  it('a look-up that was sent is not joined, also when it was sent while they were', async () => {
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

  it('a look-up that came behind another one is what is kept and what is marked', async () => {
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
