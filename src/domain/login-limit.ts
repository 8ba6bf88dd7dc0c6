/** So many failures within a time; times are milliseconds. */
export interface LoginLimit {
  readonly failures: number
  readonly windowMs: number
}

/** The limits that the operator has set; null where there is none. */
export interface LoginLimits {
  /** By account and address together. */
  readonly loginLimitAccount: LoginLimit | null
  /** By address, whatever the account. */
  readonly loginLimitAddress: LoginLimit | null
}

/** A limit that was reached, and when it lets somebody try again. */
export interface ReachedLimit extends LoginLimit {
  /** Of the `RateLimit` header. */
  readonly name: string
  readonly retryAfterMs: number
}

/** A limit of logins that was reached. */
export interface ExceededLimit extends ReachedLimit {
  /** `account`: by account and address together; `address`: by address; `guesses`: by account, whatever the address. */
  readonly name: 'account' | 'address' | 'guesses'
}

const FEWEST_GUESSES = 20
/** NIST SP 800-63B-4, section 3.2.2, allows 100 in a row: the wait comes before the last of them. */
const MOST_GUESSES = 99

/**
 * Failures in a row, from any address, after which an account takes one attempt at a time, with pauses: more than an
 * owner at two addresses makes by mistake, and fewer than 100, also where there is no limit by account.
 */
export function guessesAllowed({ loginLimitAccount }: LoginLimits): number {
  if (loginLimitAccount === null) return MOST_GUESSES
  return Math.min(MOST_GUESSES, Math.max(FEWEST_GUESSES, 2 * loginLimitAccount.failures))
}

const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 30_000

/** The pause behind the last failure, once an account has had so many more in a row than are allowed. */
export function guessPauseMs(failuresBeyond: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failuresBeyond)
}
