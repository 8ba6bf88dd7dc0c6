import type { ExceededLimit } from '../../domain/login-limit.ts'

/** A login attempt: the account, and where the request comes from. */
export interface LoginAttempt {
  /** The folded e-mail. It counts the same whether or not a customer has it. */
  readonly account: string
  /** The network address of the client. */
  readonly address: string
}

/**
 * Counts failed logins by account and address together, by address, and by account alone, where only those from addresses
 * that have not logged in to the account count. An attempt acquires a slot
 * before its password is verified, so that parallel guesses count like sequential ones. Every method rejects with
 * `Unavailable` when the store does not respond within `timeoutMs` milliseconds or cannot be reached; the outcome of a
 * change is then unknown.
 */
export interface LoginThrottle {
  /** Acquires a slot for the attempt, or returns why there is none. Does not wait for a slot. */
  take(attempt: LoginAttempt, timeoutMs: number): Promise<LoginAdmission>
  /** Releases the slot and records the outcome of its attempt. A slot that is not released expires after 15 seconds. */
  settle(slot: LoginSlot, outcome: LoginOutcome, timeoutMs: number): Promise<void>
  /**
   * Forgets every failure that counts for the account, from any address, so that its owner can log in. Failures that count
   * for an address alone stay counted.
   */
  forget(account: string, timeoutMs: number): Promise<void>
  /** Returns what counts for the account now. Left out when the store cannot list it. */
  read?(account: string, timeoutMs: number): Promise<AccountFailures>
}

/** The failed logins of one account that count now. */
export interface AccountFailures {
  /** The number of failures from all addresses within the window of `LOGIN_LIMIT_ACCOUNT`. */
  readonly failures: number
  /** The number of addresses from which the account is refused because of them. */
  readonly lockedAddresses: number
  /** Until when the account is refused from addresses where it has not logged in; null while it is not. */
  readonly guessesUntilMs: number | null
}

/** The result of `take`. */
export type LoginAdmission =
  /** The attempt has a slot, which `settle` releases. */
  | { readonly kind: 'taken'; readonly slot: LoginSlot }
  /** Undecided attempts hold the remaining slots. The caller tries again after `forMs` milliseconds. */
  | { readonly kind: 'wait'; readonly forMs: number }
  /** Failures have used up the slots, or strangers have used up the guesses at the account. */
  | { readonly kind: 'refused'; readonly limit: ExceededLimit }

/** A slot that was acquired, with its attempt. */
export interface LoginSlot extends LoginAttempt {
  /** The time of `take`, in milliseconds of the throttle's own clock. */
  readonly takenAtMs: number
  /** Whether the account has logged in from this address within 30 days, without too many failures since. */
  readonly isKnown: boolean
}

/**
 * The outcome of an attempt. A failure is counted. A success resets the failures of its account and address together. An
 * undecided attempt is not counted.
 */
export type LoginOutcome = 'failed' | 'succeeded' | 'undecided'
