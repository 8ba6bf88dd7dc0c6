/** A limit: the number of failures that are allowed within a window. Times are milliseconds. */
export interface LoginLimit {
  readonly failures: number
  readonly windowMs: number
}

/** The limits that the operator has set; null for no limit. */
export interface LoginLimits {
  /** By account and address together. */
  readonly loginLimitAccount: LoginLimit | null
  /** By address, whatever the account. */
  readonly loginLimitAddress: LoginLimit | null
}

/** A limit that was reached, and when the next attempt is allowed. */
export interface ReachedLimit extends LoginLimit {
  /** A stable name of the limit, which clients see. */
  readonly name: string
  readonly retryAfterMs: number
}

/** A login limit that was reached. */
export interface ExceededLimit extends ReachedLimit {
  /** `account`: by account and address together; `address`: by address; `guesses`: by account, from any address. */
  readonly name: 'account' | 'address' | 'guesses'
}

const MIN_GUESSES = 20
/** NIST SP 800-63B-4, section 3.2.2, allows 100 in a row: the pause comes before the last of them. */
const MAX_GUESSES = 99

/**
 * Returns the number of failures in a row, from any address, after which an account takes one attempt at a time, with
 * pauses. It is more than a customer at two addresses makes by mistake, and fewer than 100 even without a limit by
 * account.
 */
export function guessesAllowed({ loginLimitAccount }: LoginLimits): number {
  if (loginLimitAccount === null) return MAX_GUESSES
  return Math.min(MAX_GUESSES, Math.max(MIN_GUESSES, 2 * loginLimitAccount.failures))
}

const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 30_000

/**
 * Returns the pause after the last failure, in milliseconds. `failuresBeyond` is the number of failures in a row beyond
 * those allowed.
 */
export function guessPauseMs(failuresBeyond: number): number {
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failuresBeyond)
}
