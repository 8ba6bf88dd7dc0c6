import { CachedToken } from '../../src/application/login-tokens/cached-token.ts'
import type { Invalidation } from '../../src/application/ports/invalidations.ts'
import type { Digest, OwnedToken } from '../../src/domain/login-token.ts'
import type { MakeCached } from '../support/revocation-model.ts'

/** Common bugs of a validation cache. The tests must find each of them. */
export const MISTAKES = [
  'stores a row that was read during an invalidation',
  'shares a lookup that an invalidation has marked',
  'invalidates before the commit',
  'acknowledges before the invalidation',
  'invalidates after a logout alone',
  'marks no lookup for a customer',
  'treats a customer as a digest',
  'compares the expiry on a read, not on a hit',
  'treats a failed lookup as an unknown token',
] as const
/** Bugs that only an instance without a lease can have. */
export const LEASELESS_MISTAKES = ['forgets a pending lookup when it starts another'] as const
export type Mistake = (typeof MISTAKES)[number] | (typeof LEASELESS_MISTAKES)[number]

/** A short version of `cachedLoginTokens` with one bug, or with none for comparison. */
export function sketchOfCache(mistake: Mistake | null): MakeCached {
  return (inner, cache, invalidations, clock, { ttlMs }) => {
    const fills = new Map<Digest, { marked: boolean; readonly reading: Promise<OwnedToken | null> }>()
    invalidations.subscribe((invalidation) => {
      if (mistake === 'treats a customer as a digest' && invalidation.kind === 'customer') {
        return cache.delete(invalidation.customerId)
      }
      cache.clear()
      if (mistake === 'marks no lookup for a customer' && invalidation.kind === 'customer') return
      for (const [digest, fill] of fills) {
        fill.marked = mistake !== 'stores a row that was read during an invalidation'
        if (mistake !== 'shares a lookup that an invalidation has marked') fills.delete(digest)
      }
    })

    return {
      ...inner,
      async findByDigest(digest, timeoutMs) {
        if (!invalidations.isCurrent()) return read(digest, timeoutMs).reading
        const cached = cache.get(digest)
        if (cached !== undefined && clock.monotonicMs() < cached.untilMonotonicMs) return cached
        return (fills.get(digest) ?? read(digest, timeoutMs)).reading
      },
      replace(login, timeoutMs) {
        const change = () => inner.replace(login, timeoutMs)
        if (mistake === 'invalidates after a logout alone') return change()
        return publishAfter({ kind: 'customer', customerId: login.token.customerId }, change)
      },
      revoke: (token, atMs, timeoutMs) =>
        publishAfter({ kind: 'digest', digest: token.digest }, () => inner.revoke(token, atMs, timeoutMs)),
    }

    function read(digest: Digest, timeoutMs: number) {
      const untilMonotonicMs = clock.monotonicMs() + ttlMs
      const asked = Promise.resolve(inner.findByDigest(digest, timeoutMs))
      const isHasty = mistake === 'treats a failed lookup as an unknown token'
      const fill = { marked: false, reading: isHasty ? asked.catch(() => null) : asked }
      const earlier = fills.get(digest)
      if (earlier && mistake !== 'forgets a pending lookup when it starts another') earlier.marked = true
      fills.set(digest, fill)
      fill.reading
        .then((owned) => {
          if (owned?.token.revokedAtMs === null) {
            if (!fill.marked) store(digest, owned, untilMonotonicMs)
          } else forget(digest)
        })
        .catch(() => {})
        .finally(() => {
          if (fills.get(digest) === fill) fills.delete(digest)
        })
      return fill
    }

    function forget(digest: Digest): void {
      cache.delete(digest)
      const fill = fills.get(digest)
      if (fill) fill.marked = true
      fills.delete(digest)
    }

    function store(digest: Digest, owned: OwnedToken, untilMonotonicMs: number): void {
      const { expiresAtMs } = owned.token
      if (expiresAtMs !== null && expiresAtMs <= clock.nowMs()) return
      const isCompared = mistake !== 'compares the expiry on a read, not on a hit'
      const stored = isCompared ? owned : { ...owned, token: { ...owned.token, expiresAtMs: null } }
      const cached = new CachedToken(stored, untilMonotonicMs)
      cache.set(digest, cached, untilMonotonicMs - clock.monotonicMs())
    }

    async function publishAfter<T>(invalidation: Invalidation, change: () => Promise<T>): Promise<T> {
      if (mistake === 'invalidates before the commit') {
        await invalidations.publish(invalidation)
        return change()
      }
      const result = await change()
      const published = invalidations.publish(invalidation)
      if (mistake !== 'acknowledges before the invalidation') await published
      return result
    }
  }
}
