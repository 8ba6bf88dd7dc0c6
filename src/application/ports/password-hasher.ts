import type { Cancellation } from '../../lib/cancellation.ts'

export interface PasswordHasher {
  /** A whole hash of the password, at the configured cost; waits its turn however long that takes. */
  hash(password: string): Promise<string>
  /** Whether a whole hash has another cost or another prefix than a new one would have. */
  isDated(passwordHash: string): boolean
  /**
   * A place in the queue of those whose passwords are looked at. Throws `Unavailable` at once when those before it
   * need longer than anybody should wait. What has not begun when the signal aborts is not done: it rejects with the
   * signal's reason.
   */
  queue(signal: Cancellation): HashingSlot
}

/** A place in the queue; kept until it is left, so that work which follows is not refused half-way. */
export interface HashingSlot {
  /**
   * Whether the hash is of this password. A null or damaged hash answers false, and every answer takes as long as
   * the configured cost does, so that time does not tell which accounts exist.
   */
  verify(password: string, passwordHash: string | null): Promise<boolean>
  /** A whole hash of the password, at the configured cost. */
  hash(password: string): Promise<string>
  leave(): void
}
