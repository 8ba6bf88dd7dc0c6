import type { Cancellation } from '../../lib/cancellation.ts'

/** Hashes and verifies passwords on a limited number of threads. No method takes a timeout. */
export interface PasswordHasher {
  /** Returns a whole hash of the password at the configured cost. Waits for a thread without a limit. */
  hash(password: string): Promise<string>
  /** Whether a whole hash has another cost than a new one would have, or is of an older version of its form. */
  isDated(passwordHash: string): boolean
  /**
   * Acquires a slot in the queue for a thread. Threads serve the waiting slots round-robin by source, then by account
   * within a source; at an equal turn those that are known come first. When the queue is too long, the newest waiting slot
   * of the source that holds the most is rejected: the method throws `Unavailable` synchronously if that is the new one.
   * One slot of each of up to three known accounts of a source does not count. Work that has not begun when the signal
   * aborts is not done: it rejects with the signal's reason.
   */
  queue(request: HashingRequest): HashingSlot
  /** Whether `queue` would acquire a slot now. Changes nothing. */
  hasRoom(request: HashingRequest): boolean
}

/** The caller of `queue`. Threads and slots are shared fairly between sources. */
export interface HashingRequest {
  /** The client's IPv4 address, or the first 48 bits of its IPv6 address. */
  readonly source: string
  /** The folded e-mail. */
  readonly account: string
  /** Whether the account has logged in from this address within 30 days. */
  readonly isKnown: boolean
  readonly signal: Cancellation
}

/**
 * A slot in the queue. Once its work has begun it stays acquired until `leave`, so that a login is not refused half-way.
 * Until then the slot may be rejected: its work, pending or later, rejects with `Unavailable`.
 */
export interface HashingSlot {
  /**
   * Whether the hash is of this password. Resolves to false for a null or damaged hash. Every call takes at
   * least as long as the configured cost, so that the time does not reveal which accounts exist. A hash of a higher cost
   * takes longer.
   */
  verify(password: string, passwordHash: string | null): Promise<boolean>
  /** Returns a whole hash of the password at the configured cost. */
  hash(password: string): Promise<string>
  /**
   * Returns a hash at the configured cost to replace `passwordHash`, which has verified the password. A hash that verified
   * the password without reading all of it keeps its form, or any other ending would no longer be accepted, and a mistyped
   * one would become the password. Null when it must not be replaced.
   */
  rehash(password: string, passwordHash: string): Promise<string | null>
  /** Releases the slot. Further calls do nothing. */
  leave(): void
}
