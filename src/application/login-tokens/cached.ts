import { authenticates, type Digest, type OwnedToken } from '../../domain/login-token.ts'
import type { Clock } from '../../lib/clock.ts'
import { methods } from '../../lib/methods.ts'
import type { Cache } from '../ports/cache.ts'
import type { Invalidation, Invalidations } from '../ports/invalidations.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'
import { CachedToken } from './cached-token.ts'
import { CustomerIndex } from './customer-index.ts'
import type { IsIdle } from './idle-expiry.ts'

interface Fill {
  readonly reading: Promise<OwnedToken | null>
  /** Whether an invalidation arrived while it was reading, so that its result may be stale. */
  marked: boolean
}

/**
 * Login tokens with a cache in front of the lookup. A fill registers itself before it reads. An invalidation marks the
 * fills that it concerns, and a marked fill is never stored. Concurrent lookups of a digest share one fill
 * (single-flight), except while the invalidations are not current: an earlier fill may then have read the row before a
 * change that is acknowledged by now.
 *
 * `inner` must publish its changes to the same invalidations, as those of `invalidatingLoginTokens` do: after the commit
 * and before the acknowledgement, and also when the outcome is unknown.
 */
export function cachedLoginTokens(
  inner: LoginTokens,
  cache: Cache<CachedToken>,
  invalidations: Invalidations,
  clock: Clock,
  {
    ttlMs,
    isIdle,
    onDiscarded = () => {},
  }: {
    readonly ttlMs: number
    /**
     * Whether a token has expired without a use. A cached token is then looked up again, because another process may have
     * stored a later use. Default: no token is idle.
     */
    readonly isIdle?: IsIdle | undefined
    /** Called for each valid token that is not cached because an invalidation arrived while it was read. */
    readonly onDiscarded?: (() => void) | undefined
  },
): LoginTokens {
  const fills = new Map<Digest, Fill>()
  const index = new CustomerIndex()
  invalidations.subscribe(apply)
  cache.onRemoved((digest, { customer }) => index.delete(customer.id, digest))

  return {
    ...methods(inner),
    findByDigest(digest, timeoutMs) {
      if (!invalidations.isCurrent()) return beginFill(digest, timeoutMs).reading
      const cached = cache.get(digest)
      if (cached !== undefined && isUsable(cached)) return cached
      return (fills.get(digest) ?? beginFill(digest, timeoutMs)).reading
    },
  }

  function isUsable({ token, untilMonotonicMs }: CachedToken): boolean {
    // Without idle expiry, a hit needs no second clock.
    return clock.monotonicMs() < untilMonotonicMs && !isIdle?.(token, clock.nowMs())
  }

  function beginFill(digest: Digest, timeoutMs: number): Fill {
    // The clock is read before the store: the row may be as old as that. A whole number takes half the memory.
    const untilMonotonicMs = Math.floor(clock.monotonicMs() + ttlMs)
    const fill: Fill = {
      marked: false,
      reading: Promise.resolve(inner.findByDigest(digest, timeoutMs)).then(
        (owned) => {
          if (fills.get(digest) === fill) fills.delete(digest)
          // After one request is refused, an older cache entry must not accept a later one.
          if (owned === null || !isAccepted(owned)) forget(digest)
          else if (!fill.marked) return store(digest, owned, untilMonotonicMs)
          else onDiscarded()
          return owned
        },
        (error: unknown) => {
          if (fills.get(digest) === fill) fills.delete(digest)
          throw error
        },
      ),
    }
    // An invalidation could no longer find the earlier fill, so it is marked now.
    mark(digest)
    fills.set(digest, fill)
    return fill
  }

  function isAccepted(owned: OwnedToken): boolean {
    const nowMs = clock.nowMs()
    return authenticates(owned, nowMs) && !isIdle?.(owned.token, nowMs)
  }

  /** Returns the cached validation, or `owned` itself when it has already expired. */
  function store(digest: Digest, owned: OwnedToken, untilMonotonicMs: number): OwnedToken {
    const nowMs = clock.nowMs()
    const { token, customer } = owned
    const leftMs = Math.min(untilMonotonicMs - clock.monotonicMs(), (token.expiresAtMs ?? Infinity) - nowMs)
    if (leftMs <= 0) return owned
    // All callers share the object.
    Object.freeze(token.abilities)
    Object.freeze(token)
    Object.freeze(customer)
    const cached = new CachedToken(owned, untilMonotonicMs)
    cache.set(digest, cached, leftMs)
    index.add(customer.id, digest)
    return cached
  }

  function apply(invalidation: Invalidation): void {
    switch (invalidation.kind) {
      case 'digest':
        forget(invalidation.digest)
        break
      case 'customer':
        // The customer of a fill is unknown until it has read the row.
        for (const digest of fills.keys()) mark(digest)
        for (const digest of index.list(invalidation.customerId)) cache.delete(digest)
        break
      case 'everything':
        for (const digest of fills.keys()) mark(digest)
        cache.clear()
        index.clear()
        break
    }
  }

  function forget(digest: Digest): void {
    mark(digest)
    cache.delete(digest)
  }

  /** Marks the fill and unregisters it, so that a later request starts its own. */
  function mark(digest: Digest): void {
    const fill = fills.get(digest)
    if (fill === undefined) return
    fill.marked = true
    fills.delete(digest)
  }
}
