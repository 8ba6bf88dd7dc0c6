import type { CachedToken } from '../../src/application/login-tokens/cached.ts'
import type { Invalidation } from '../../src/application/ports/invalidations.ts'
import type { Digest, OwnedToken } from '../../src/domain/login-token.ts'
import type { MakeCached } from '../support/revocation-model.ts'

/** The mistakes that are easily made in a cache of validations; the tests must find each of them. */
export const MISTAKES = [
  'stores what was read while an invalidation came',
  'joins a look-up that an invalidation has marked',
  'invalidates before the commit',
  'acknowledges before the invalidation',
  'invalidates after a logout alone',
  'marks no look-up for a customer',
  'takes a customer for a digest',
  'compares the expiry when it reads, not on a hit',
  'takes a look-up that failed for an unknown token',
] as const
/** The ones that only an instance without a lease can make. */
export const LEASELESS_MISTAKES = ['loses sight of a look-up when it begins another'] as const
export type Mistake = (typeof MISTAKES)[number] | (typeof LEASELESS_MISTAKES)[number]

/** The idea of `cachedLoginTokens` in few lines, with one mistake or, for comparison, none. */
export function sketchOfCache(mistake: Mistake | null): MakeCached {
  return (inner, cache, invalidations, clock, { ttlMs }) => {
    const fills = new Map<Digest, { marked: boolean; readonly reading: Promise<OwnedToken | null> }>()
    invalidations.subscribe((invalidation) => {
      if (mistake === 'takes a customer for a digest' && invalidation.kind === 'customer') {
        return cache.delete(invalidation.customerId)
      }
      cache.clear()
      if (mistake === 'marks no look-up for a customer' && invalidation.kind === 'customer') return
      for (const [digest, fill] of fills) {
        fill.marked = mistake !== 'stores what was read while an invalidation came'
        if (mistake !== 'joins a look-up that an invalidation has marked') fills.delete(digest)
      }
    })

    return {
      ...inner,
      async findByDigest(digest, timeoutMs) {
        if (!invalidations.isCurrent()) return read(digest, timeoutMs).reading
        const kept = cache.get(digest)
        if (kept !== undefined && clock.monotonicMs() < kept.untilMonotonicMs) return kept.owned
        return (fills.get(digest) ?? read(digest, timeoutMs)).reading
      },
      replace(login, timeoutMs) {
        const change = () => inner.replace(login, timeoutMs)
        if (mistake === 'invalidates after a logout alone') return change()
        return announcing({ kind: 'customer', customerId: login.token.customerId }, change)
      },
      revoke: (token, atMs, timeoutMs) =>
        announcing({ kind: 'digest', digest: token.digest }, () => inner.revoke(token, atMs, timeoutMs)),
    }

    function read(digest: Digest, timeoutMs: number) {
      const untilMonotonicMs = clock.monotonicMs() + ttlMs
      const asked = Promise.resolve(inner.findByDigest(digest, timeoutMs))
      const isHasty = mistake === 'takes a look-up that failed for an unknown token'
      const fill = { marked: false, reading: isHasty ? asked.catch(() => null) : asked }
      const earlier = fills.get(digest)
      if (earlier && mistake !== 'loses sight of a look-up when it begins another') earlier.marked = true
      fills.set(digest, fill)
      fill.reading
        .then((owned) => {
          if (owned?.token.revokedAtMs === null) {
            if (!fill.marked) keep(digest, owned, untilMonotonicMs)
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

    function keep(digest: Digest, owned: OwnedToken, untilMonotonicMs: number): void {
      const { expiresAtMs } = owned.token
      if (expiresAtMs !== null && expiresAtMs <= clock.nowMs()) return
      const isCompared = mistake !== 'compares the expiry when it reads, not on a hit'
      const kept: CachedToken = {
        owned: isCompared ? owned : { ...owned, token: { ...owned.token, expiresAtMs: null } },
        untilMonotonicMs,
      }
      cache.set(digest, kept, untilMonotonicMs - clock.monotonicMs())
    }

    async function announcing<T>(invalidation: Invalidation, change: () => Promise<T>): Promise<T> {
      if (mistake === 'invalidates before the commit') {
        await invalidations.publish(invalidation)
        return change()
      }
      const answer = await change()
      const published = invalidations.publish(invalidation)
      if (mistake !== 'acknowledges before the invalidation') await published
      return answer
    }
  }
}
