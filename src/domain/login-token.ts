import type { Customer } from './customer.ts'

/** The name that the token of a login carries; any other name is of a token made for a bot or a script. */
export const LOGIN_TOKEN_NAME = 'login'

/** What a login token may do: everything. */
export const LOGIN_TOKEN_ABILITIES: readonly string[] = Object.freeze(['*'])

/** The SHA-256 of a secret, as 64 lower-case hexadecimal digits: the one form in which a token is stored. */
export type Digest = string

/** A token issued to a customer. Times are milliseconds since the Unix epoch. */
export interface LoginToken {
  readonly id: string
  readonly customerId: string
  readonly name: string
  readonly abilities: readonly string[]
  readonly createdAtMs: number
  /** Fixed when the token is made; null for a token that never expires. */
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
  /** As lists tell it; null before the first use, and in a look-up: it changes too often to be kept. */
  readonly lastUsedAtMs: number | null
}

/** A problem with the name of a token for a bot or a script as one sentence, or null when it may be stored. */
export function tokenNameProblem(name: string): string | null {
  const length = [...name].length
  if (length < 1 || length > 100) return 'Must have 1 to 100 characters.'
  if (name === LOGIN_TOKEN_NAME) return `Must not be ${LOGIN_TOKEN_NAME}, which is the name of login tokens.`
  if (!name.isWellFormed()) return 'Must be well-formed text.'
  return /[\u0000-\u001f\u007f-\u009f]/.test(name) ? 'Must not contain control characters.' : null
}

/** `expired` is read from the clock and never stored; a revoked token stays revoked. */
export type TokenState = 'active' | 'revoked' | 'expired'

/** The token's state at a moment; at the very millisecond of its expiry it is expired. */
export function tokenState(token: LoginToken, nowMs: number): TokenState {
  if (token.revokedAtMs !== null) return 'revoked'
  if (token.expiresAtMs !== null && token.expiresAtMs <= nowMs) return 'expired'
  return 'active'
}

/** A token with its owner: what a validation reads and a cache may keep. */
export interface OwnedToken {
  readonly token: LoginToken
  readonly customer: Customer
}

/** Whether the token authenticates its owner at a moment: active, and the customer not disabled. */
export function authenticates({ token, customer }: OwnedToken, nowMs: number): boolean {
  return customer.disabledAtMs === null && tokenState(token, nowMs) === 'active'
}

/** When a token made at a moment expires; a `null` lifetime is for ever. */
export function expiresAt(createdAtMs: number, ttlMs: number | null): number | null {
  return ttlMs === null ? null : createdAtMs + ttlMs
}
