import { TooManyUnknownTokens } from '../../domain/errors.ts'
import type { Digest } from '../../domain/login-token.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Requester } from '../requester.ts'

/** The number of rejected tokens that an address may present at once. */
const BURST = 100
/** Lookups per second for an address that has presented more. */
const REFILL_PER_SECOND = 20
/** The most tokens that an address can owe, after lookups that were in flight when the first was rejected. */
const MAX_DEBT = 100
const MAX_ADDRESSES = 10_000
/** About 5 MB when the cache holds the same digests, otherwise 13 MB. */
const MAX_KNOWN = 100_000
const KNOWN_HOURS = 24
const HOUR_MS = 3_600_000

/** The token bucket of one address. */
export interface Bucket {
  left: number
  asOfMs: number
}

/**
 * Rate limit for the lookups of rejected tokens, by address (a token bucket). A rejected token is unknown, revoked or
 * expired. An address without rejected tokens has no bucket, and its lookups are not counted. Tokens that this instance
 * issued or validated within the last day are looked up even if the bucket of their address is empty, so that other
 * clients behind the address do not lose access. Only a valid token becomes known, so that an attacker cannot evict
 * others.
 */
export class UnknownTokenLimit {
  readonly #clock: Clock
  readonly #buckets = new Map<string, Bucket>()
  /** The hour since the epoch in which each digest was last validated or issued; oldest first. */
  readonly #known = new Map<Digest, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Takes one lookup from the bucket of the address; returns the bucket, or null when the lookup is not limited. Throws
   * `TooManyUnknownTokens` when the bucket is empty.
   */
  reserve(digest: Digest, requester: Requester): Bucket | null {
    if (this.#buckets.size === 0) return null
    const bucket = this.#bucketAt(requester.address)
    if (bucket === null || this.#isKnown(digest)) return null
    if (bucket.left < 1) {
      const retryAfterMs = ((1 - bucket.left) / REFILL_PER_SECOND) * 1000
      throw new TooManyUnknownTokens({
        name: 'tokens',
        failures: BURST,
        windowMs: (BURST / REFILL_PER_SECOND) * 1000,
        retryAfterMs,
      })
    }
    bucket.left -= 1
    return bucket
  }

  /** Returns a reserved lookup to its bucket: the token is valid, or the lookup failed. */
  release(reserved: Bucket): void {
    reserved.left = Math.min(BURST, reserved.left + 1)
  }

  /** Charges the address for a rejected token, unless the lookup was reserved; the token is no longer known. */
  charge(digest: Digest, requester: Requester, reserved: Bucket | null): void {
    this.#known.delete(digest)
    if (reserved !== null) return
    const bucket = this.#bucketAt(requester.address) ?? this.#createBucket(requester.address)
    bucket.left = Math.max(-MAX_DEBT, bucket.left - 1)
  }

  /** Remembers a token that was just validated or issued. */
  remember(digest: Digest): void {
    const hour = this.#hour()
    if (this.#known.get(digest) === hour) return
    this.#known.delete(digest)
    if (this.#known.size >= MAX_KNOWN) this.#known.delete(this.#known.keys().next().value as Digest)
    this.#known.set(digest, hour)
  }

  #isKnown(digest: Digest): boolean {
    const hour = this.#known.get(digest)
    return hour !== undefined && this.#hour() - hour < KNOWN_HOURS
  }

  #hour(): number {
    return Math.floor(this.#clock.nowMs() / HOUR_MS)
  }

  /** Null for an address whose bucket is full. */
  #bucketAt(address: string): Bucket | null {
    const bucket = this.#buckets.get(address)
    if (bucket === undefined) return null
    const nowMs = this.#clock.monotonicMs()
    bucket.left = Math.min(BURST, bucket.left + ((nowMs - bucket.asOfMs) / 1000) * REFILL_PER_SECOND)
    bucket.asOfMs = nowMs
    if (bucket.left < BURST) return bucket
    this.#buckets.delete(address)
    return null
  }

  #createBucket(address: string): Bucket {
    if (this.#buckets.size >= MAX_ADDRESSES) this.#buckets.delete(this.#buckets.keys().next().value as string)
    const bucket: Bucket = { left: BURST, asOfMs: this.#clock.monotonicMs() }
    this.#buckets.set(address, bucket)
    return bucket
  }
}
