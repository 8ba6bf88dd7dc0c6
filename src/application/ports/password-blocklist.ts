import type { MaybePromise } from '../../lib/maybe-promise.ts'

/** A list of common passwords, which attackers try first. */
export interface PasswordBlocklist {
  /**
   * Whether the password is on the list, in any letter case. Rejects with the adapter's own error when the list cannot be
   * loaded. It has no timeout.
   */
  has(password: string): MaybePromise<boolean>
}
