import { authenticates, type Digest, type OwnedToken } from '../../domain/login-token.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Cache } from '../ports/cache.ts'
import type { Invalidation, Invalidations } from '../ports/invalidations.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'
import { invalidatingLoginTokens } from './invalidating.ts'

/** A validation that may be used again until a moment of the monotonic clock. */
export interface CachedToken {
  readonly owned: OwnedToken
  readonly untilMonotonicMs: number
}

interface Fill {
  readonly reading: Promise<OwnedToken | null>
  /** An invalidation came while it was reading: what it read may be what was true before. */
  marked: boolean
}

/**
 * Login tokens with a cache in front of the look-up. A fill registers itself before it reads, an invalidation marks
 * the fills that it concerns, and a marked fill is never stored; a change is announced after its commit and before
 * it is acknowledged, and also when its outcome is unknown. While the invalidations are not current, each look-up
 * reads for itself: what another one has sent may have been read before a change that is acknowledged by now.
 */
export function cachedLoginTokens(
  inner: LoginTokens,
  cache: Cache<CachedToken>,
  invalidations: Invalidations,
  clock: Clock,
  {
    ttlMs,
    onDiscarded = () => {},
  }: {
    readonly ttlMs: number
    /** Told of each good token that is not kept, since it may have ended while it was read. */
    readonly onDiscarded?: (() => void) | undefined
  },
): LoginTokens {
  const fills = new Map<Digest, Fill>()
  /** Almost everybody has one token. */
  const digestsOf = new Map<string, Digest | Set<Digest>>()
  invalidations.subscribe(apply)
  cache.onRemoved(forgetOwner)

  return {
    ...invalidatingLoginTokens(inner, invalidations),
    findByDigest(digest, timeoutMs) {
      if (!invalidations.isCurrent()) return beginFill(digest, timeoutMs).reading
      const kept = cache.get(digest)
      if (kept !== undefined && clock.monotonicMs() < kept.untilMonotonicMs) return kept.owned
      return (fills.get(digest) ?? beginFill(digest, timeoutMs)).reading
    },
  }

  function beginFill(digest: Digest, timeoutMs: number): Fill {
    // Taken before reading: the entry's life counts from the oldest moment that it can speak of.
    // Whole, which is half the size to keep.
    const untilMonotonicMs = Math.floor(clock.monotonicMs() + ttlMs)
    const fill: Fill = {
      marked: false,
      reading: Promise.resolve(inner.findByDigest(digest, timeoutMs)).then(
        (owned) => {
          if (fills.get(digest) === fill) fills.delete(digest)
          // After one request was refused none that begins later is accepted, even by what was read before.
          if (owned === null || !authenticates(owned, clock.nowMs())) forget(digest)
          else if (!fill.marked) keep(digest, owned, untilMonotonicMs)
          else onDiscarded()
          return owned
        },
        (error: unknown) => {
          if (fills.get(digest) === fill) fills.delete(digest)
          throw error
        },
      ),
    }
    // An earlier one would not be found any more by what marks it.
    mark(digest)
    fills.set(digest, fill)
    return fill
  }

  function keep(digest: Digest, owned: OwnedToken, untilMonotonicMs: number): void {
    const nowMs = clock.nowMs()
    const { token, customer } = owned
    const leftMs = Math.min(untilMonotonicMs - clock.monotonicMs(), (token.expiresAtMs ?? Infinity) - nowMs)
    if (leftMs <= 0) return
    // Every reader shares it.
    Object.freeze(token.abilities)
    Object.freeze(token)
    Object.freeze(customer)
    cache.set(digest, { owned: Object.freeze(owned), untilMonotonicMs }, leftMs)
    const others = digestsOf.get(customer.id)
    if (others === undefined || others === digest) digestsOf.set(customer.id, digest)
    else if (typeof others === 'string') digestsOf.set(customer.id, new Set([others, digest]))
    else others.add(digest)
  }

  function forgetOwner(digest: Digest, { owned }: CachedToken): void {
    const digests = digestsOf.get(owned.customer.id)
    if (typeof digests === 'object') digests.delete(digest)
    if (digests === digest || (typeof digests === 'object' && digests.size === 0))
      digestsOf.delete(owned.customer.id)
  }

  function apply(invalidation: Invalidation): void {
    switch (invalidation.kind) {
      case 'digest':
        forget(invalidation.digest)
        break
      case 'customer':
        // Whose token a fill is reading is not known before it has read.
        for (const digest of fills.keys()) mark(digest)
        for (const digest of lifetimeMs(invalidation.customerId)) cache.delete(digest)
        break
      case 'everything':
        for (const digest of fills.keys()) mark(digest)
        cache.clear()
        digestsOf.clear()
        break
    }
  }

  function lifetimeMs(customerId: string): readonly Digest[] {
    const digests = digestsOf.get(customerId) ?? []
    return typeof digests === 'string' ? [digests] : [...digests]
  }

  function forget(digest: Digest): void {
    mark(digest)
    cache.delete(digest)
  }

  /** Also takes it out, so that a request that begins later reads for itself. */
  function mark(digest: Digest): void {
    const fill = fills.get(digest)
    if (fill === undefined) return
    fill.marked = true
    fills.delete(digest)
  }
}
