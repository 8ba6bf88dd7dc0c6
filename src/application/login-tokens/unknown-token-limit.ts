import { TooManyUnknownTokens } from '../../domain/errors.ts'
import type { Digest } from '../../domain/login-token.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Requester } from '../requester.ts'
import { KnownTokens } from './known-tokens.ts'

/** The number of rejected tokens that an address may present at once. */
const BURST = 100
/** Lookups per second for an address that has presented more. */
const REFILL_PER_SECOND = 20
/** The most tokens that an address can owe, after lookups that were in flight when the first was rejected. */
const MAX_DEBT = 100
const MAX_ADDRESSES = 10_000

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
  readonly #known: KnownTokens

  constructor(clock: Clock) {
    this.#clock = clock
    this.#known = new KnownTokens(clock)
  }

  /**
   * Takes one lookup from the bucket of the address; returns the bucket, or null when the lookup is not limited. Throws
   * `TooManyUnknownTokens` when the bucket is empty.
   */
  reserve(digest: Digest, requester: Requester): Bucket | null {
    if (this.#buckets.size === 0) return null
    const bucket = this.#bucketAt(requester.payer ?? requester.address)
    if (bucket === null || this.#known.has(digest)) return null
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
    const payer = requester.payer ?? requester.address
    const bucket = this.#bucketAt(payer) ?? this.#createBucket(payer)
    bucket.left = Math.max(-MAX_DEBT, bucket.left - 1)
  }

  /** Remembers a token that was just validated or issued. */
  remember(digest: Digest): void {
    this.#known.add(digest)
  }

  /** Null for a payer whose bucket is full. A payer is an address, or a service token that asks for its own clients. */
  #bucketAt(payer: string): Bucket | null {
    const bucket = this.#buckets.get(payer)
    if (bucket === undefined) return null
    const nowMs = this.#clock.monotonicMs()
    bucket.left = Math.min(BURST, bucket.left + ((nowMs - bucket.asOfMs) / 1000) * REFILL_PER_SECOND)
    bucket.asOfMs = nowMs
    if (bucket.left < BURST) return bucket
    this.#buckets.delete(payer)
    return null
  }

  #createBucket(payer: string): Bucket {
    if (this.#buckets.size >= MAX_ADDRESSES) this.#buckets.delete(this.#buckets.keys().next().value as string)
    const bucket: Bucket = { left: BURST, asOfMs: this.#clock.monotonicMs() }
    this.#buckets.set(payer, bucket)
    return bucket
  }
}
