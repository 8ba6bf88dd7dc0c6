import type { Digest } from '../../domain/login-token.ts'
import type { Clock } from '../../lib/clock.ts'

/** About 5 MB when the cache holds the same digests, otherwise 13 MB. */
const MAX_TOKENS = 100_000
const KNOWN_HOURS = 24
const HOUR_MS = 3_600_000

/** The tokens that were validated or issued within the last day. When it is full, the oldest is forgotten. */
export class KnownTokens {
  readonly #clock: Pick<Clock, 'nowMs'>
  /** The hour since the epoch in which each digest was last added; oldest first. */
  readonly #hours = new Map<Digest, number>()

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock
  }

  has(digest: Digest): boolean {
    const hour = this.#hours.get(digest)
    return hour !== undefined && this.#hour() - hour < KNOWN_HOURS
  }

  add(digest: Digest): void {
    const hour = this.#hour()
    if (this.#hours.get(digest) === hour) return
    this.#hours.delete(digest)
    if (this.#hours.size >= MAX_TOKENS) this.#hours.delete(this.#hours.keys().next().value as Digest)
    this.#hours.set(digest, hour)
  }

  delete(digest: Digest): void {
    this.#hours.delete(digest)
  }

  #hour(): number {
    return Math.floor(this.#clock.nowMs() / HOUR_MS)
  }
}
