import type { MaybePromise } from '../../lib/maybe-promise.ts'

/** Passwords that everybody guesses first. */
export interface PasswordBlocklist {
  /** Whether the password is one of them, in any case of its letters. */
  has(password: string): MaybePromise<boolean>
}
