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
  /** `account`: by account and address together; `address`: by address; `guesses`: by account, from strangers. */
  readonly name: 'account' | 'address' | 'guesses'
}

/** The failures of one account within an hour from addresses that have not logged in to it: a NIST and OWASP ASVS limit. */
const MAX_GUESSES_AN_HOUR = 100
const HOUR_MS = 3_600_000
const MIN_GUESSES = 20
const MAX_GUESSES = 40

/** The guesses at one account from addresses that have not logged in to it: a token bucket. */
export interface GuessLimit {
  /** The number of failures that are allowed at once. */
  readonly burst: number
  /** Another failure is allowed each time this has passed, in milliseconds. */
  readonly pauseMs: number
}

/**
 * Returns the limit of guesses. The burst is more than a customer at two new addresses makes by mistake; in any hour, burst
 * and refill together are at most 100 failures.
 */
export function guessLimit({ loginLimitAccount }: LoginLimits): GuessLimit {
  const wanted = loginLimitAccount === null ? MAX_GUESSES : 2 * loginLimitAccount.failures
  const burst = Math.min(MAX_GUESSES, Math.max(MIN_GUESSES, wanted))
  return { burst, pauseMs: Math.ceil(HOUR_MS / (MAX_GUESSES_AN_HOUR - burst)) }
}
