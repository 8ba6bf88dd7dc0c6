import type { ExceededLimit } from '../../domain/login-limit.ts'

/** Whose password is being guessed, or given, and from where. */
export interface LoginAttempt {
  /** The folded e-mail, of a customer or of nobody: both count alike. */
  readonly account: string
  readonly address: string
}

/**
 * Counts failed logins: by account and address together, by address, and by account alone. An attempt takes a place
 * before its password is looked at, so that guesses in parallel are counted like guesses one after the other.
 */
export interface LoginThrottle {
  take(attempt: LoginAttempt, timeoutMs: number): Promise<LoginAdmission>
  /** Gives the place back, with what became of the attempt; a place that nobody gives back is given up after 15 seconds. */
  settle(place: LoginSlot, outcome: LoginOutcome, timeoutMs: number): Promise<void>
}

export type LoginAdmission =
  | { readonly kind: 'taken'; readonly place: LoginSlot }
  /** Attempts that are not decided yet hold the places that are left: to be tried again in `forMs`. */
  | { readonly kind: 'wait'; readonly forMs: number }
  /** Failures have used up the places, or the account is being guessed and takes one attempt at a time, with pauses. */
  | { readonly kind: 'refused'; readonly limit: ExceededLimit }

/** A place that was taken: the attempt, and when, by the throttle's own clock. */
export interface LoginSlot extends LoginAttempt {
  readonly takenAtMs: number
}

/** A failure stays counted, a success ends the account's failures in a row, and what was never decided leaves no trace. */
export type LoginOutcome = 'failed' | 'succeeded' | 'undecided'
