import type { Soon } from '../soon.ts'

/** Passwords that everybody guesses first. */
export interface PasswordBlocklist {
  /** Whether the password is one of them, in any case of its letters. */
  has(password: string): Soon<boolean>
}
