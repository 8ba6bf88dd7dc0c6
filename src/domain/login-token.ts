import type { Customer } from './customer.ts'
import { codePoints, lineProblem } from './text.ts'

/** The name of every login token. Any other name is that of a named token, created for a bot or a script. */
export const LOGIN_TOKEN_NAME = 'login'

/** The abilities of a login token: all. */
export const LOGIN_TOKEN_ABILITIES: readonly string[] = Object.freeze(['*'])

/** The SHA-256 of a secret, as 64 lower-case hexadecimal digits. Only the digest is stored, never the secret. */
export type Digest = string

/** A token issued to a customer. Times are milliseconds since the Unix epoch. */
export interface LoginToken {
  readonly id: string
  readonly customerId: string
  readonly name: string
  readonly abilities: readonly string[]
  readonly createdAtMs: number
  /** Fixed when the token is created; null for a token that never expires. */
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
  /** As it was stored when the token was read: uses are written now and then. Null before the first one. */
  readonly lastUsedAtMs: number | null
  /** Set only in lists: the label that the client of a login token chose. Null without one, and in a lookup by digest. */
  readonly device: string | null
}

/** Returns a new token: neither revoked nor used. */
export function createToken(
  fields: Omit<LoginToken, 'revokedAtMs' | 'lastUsedAtMs' | 'device'> & Partial<Pick<LoginToken, 'device'>>,
): LoginToken {
  return { device: null, ...fields, revokedAtMs: null, lastUsedAtMs: null }
}

/** Returns a new login token, which expires `ttlMs` after its creation, or never when that is null. */
export function createLoginToken({
  ttlMs,
  ...fields
}: Pick<LoginToken, 'id' | 'customerId' | 'createdAtMs'> &
  Partial<Pick<LoginToken, 'device'>> & { readonly ttlMs: number | null }): LoginToken {
  return createToken({
    ...fields,
    name: LOGIN_TOKEN_NAME,
    abilities: LOGIN_TOKEN_ABILITIES,
    expiresAtMs: ttlMs === null ? null : fields.createdAtMs + ttlMs,
  })
}

/** Returns the problem with the name of a named token as one sentence, or null when it is valid. */
export function tokenNameProblem(name: string): string | null {
  const length = codePoints(name)
  if (length < 1 || length > 100) return 'Must have 1 to 100 characters.'
  if (name === LOGIN_TOKEN_NAME) return `Must not be ${LOGIN_TOKEN_NAME}, which is the name of login tokens.`
  return lineProblem(name)
}

/** The state of a token. `expired` is computed from the clock and never stored; a revoked token stays revoked. */
export type TokenState = 'active' | 'revoked' | 'expired'

/** Returns the token's state at `nowMs`. A token is expired from the millisecond `expiresAtMs` on. */
export function tokenState(token: LoginToken, nowMs: number): TokenState {
  if (token.revokedAtMs !== null) return 'revoked'
  if (token.expiresAtMs !== null && token.expiresAtMs <= nowMs) return 'expired'
  return 'active'
}

/** A token with its owner: the result of a lookup, which may be cached. */
export interface OwnedToken {
  readonly token: LoginToken
  readonly customer: Customer
  /** Holds a value derived from token and customer for as long as they are cached; left out when they are not. */
  readonly memo?: Memo | undefined
}

/** A slot for one value, undefined until it is set. */
export interface Memo {
  value: unknown
}

/** Whether the token authenticates its owner at `nowMs`: it is active, and the customer is not disabled. */
export function authenticates({ token, customer }: OwnedToken, nowMs: number): boolean {
  return customer.disabledAtMs === null && tokenState(token, nowMs) === 'active'
}
