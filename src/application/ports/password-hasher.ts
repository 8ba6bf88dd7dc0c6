import type { Cancellation } from '../../lib/cancellation.ts'

/** Hashes and verifies passwords on a limited number of threads. No method takes a timeout. */
export interface PasswordHasher {
  /** Returns a whole hash of the password at the configured cost. Waits for a thread without a limit. */
  hash(password: string): Promise<string>
  /** Whether a whole hash has another cost or another prefix than a new one would have. */
  isDated(passwordHash: string): boolean
  /**
   * Acquires a slot in the queue for a thread. Throws `Unavailable` synchronously when the queue is too long. Work that
   * has not begun when the signal aborts is not done: it rejects with the signal's reason.
   */
  queue(signal: Cancellation): HashingSlot
}

/** A slot in the queue. It stays acquired until `leave`, so that the work of one login is not refused half-way. */
export interface HashingSlot {
  /**
   * Whether the hash is of this password. Resolves to false for a null or damaged hash. Every call takes at
   * least as long as the configured cost, so that the time does not reveal which accounts exist. A hash of a higher cost
   * takes longer.
   */
  verify(password: string, passwordHash: string | null): Promise<boolean>
  /** Returns a whole hash of the password at the configured cost. */
  hash(password: string): Promise<string>
  /** Releases the slot. Further calls do nothing. */
  leave(): void
}
