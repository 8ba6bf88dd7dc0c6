import type { ExceededLimit, ReachedLimit } from './login-limit.ts'

/** The stable codes of the core's errors; never renamed. */
export type Reason =
  | 'missing_token'
  | 'invalid_token'
  | 'invalid_credentials'
  | 'invalid_service_token'
  | 'insufficient_scope'
  | 'login_token_required'
  | 'validation_failed'
  | 'too_many_requests'
  | 'unavailable'

/** An error that may be shown to the client: `message` is a whole sentence without secrets. */
export abstract class LatchkeyError extends Error {
  abstract readonly reason: string

  override get name(): string {
    return this.constructor.name
  }
}

/** No credentials were presented where a token is required (RFC 6750, section 3.1). */
export class MissingToken extends LatchkeyError {
  readonly reason = 'missing_token' satisfies Reason
  constructor() {
    super('A bearer token is required.')
  }
}

/** The presented token is malformed, unknown, revoked or expired. The response is the same for all of them. */
export class InvalidToken extends LatchkeyError {
  readonly reason = 'invalid_token' satisfies Reason
  constructor() {
    super('The token is not valid.')
  }
}

/** The presented text cannot be a token. The client gets the response of any invalid token; only the log differs. */
export class MalformedToken extends InvalidToken {}

/** The login was refused. The response does not reveal why. */
export class InvalidCredentials extends LatchkeyError {
  readonly reason = 'invalid_credentials' satisfies Reason
  constructor() {
    super('The e-mail or the password is not right.')
  }
}

/** A service route was called without a configured service token. */
export class InvalidServiceToken extends LatchkeyError {
  readonly reason = 'invalid_service_token' satisfies Reason
  constructor() {
    super('A valid service token is required.')
  }
}

/** The token is valid, but lacks an ability that the route requires. */
export class InsufficientScope extends LatchkeyError {
  readonly reason = 'insufficient_scope' satisfies Reason
  readonly required: readonly string[]
  constructor(required: readonly string[]) {
    super('The token lacks an ability that this route requires.')
    this.required = required
  }
}

/** The service token is valid, but lacks a scope that the route requires (RFC 6750, section 3.1). */
export class InsufficientServiceScope extends LatchkeyError {
  readonly reason = 'insufficient_scope' satisfies Reason
  readonly required: readonly string[]
  /** `missing` are those of the required scopes that the token lacks. */
  constructor(required: readonly string[], missing: readonly string[]) {
    const names = missing.map((scope) => `"${scope}"`).join(' and ')
    super(`The service token lacks the scope${missing.length > 1 ? 's' : ''} ${names}.`)
    this.required = required
  }
}

/** A named token was presented where a login token is required. */
export class LoginTokenRequired extends LatchkeyError {
  readonly reason = 'login_token_required' satisfies Reason
  constructor() {
    super('Only a login token can log out.')
  }
}

/** The problems of each field, as sentences. */
export type FieldErrors = Readonly<Record<string, readonly string[]>>

/** A problem of a field for programs: a stable code such as `min_length`, with the limit or the allowed values. */
export interface FieldDetail {
  readonly field: string
  readonly code: string
  readonly [fact: string]: unknown
}

/**
 * The input is invalid. No sentence repeats a value of the input. Without `details`, each sentence has one of the code
 * `invalid`.
 */
export class ValidationFailed extends LatchkeyError {
  readonly reason = 'validation_failed' satisfies Reason
  readonly errors: FieldErrors
  readonly details: readonly FieldDetail[]
  constructor(errors: FieldErrors, details?: readonly FieldDetail[]) {
    super('The request does not have the expected shape.')
    this.errors = errors
    this.details =
      details ??
      Object.entries(errors).flatMap(([field, sentences]) =>
        sentences.map(() => ({ field, code: 'invalid' })),
      )
  }
}

/** Too many logins failed, by account or by address; the client may try again later (RFC 6585, section 4). */
export class TooManyLogins extends LatchkeyError {
  readonly reason = 'too_many_requests' satisfies Reason
  readonly limit: ExceededLimit
  constructor(limit: ExceededLimit) {
    super('Too many logins have failed. Please try again later.')
    this.limit = limit
  }
}

/** Too many tokens of an address were rejected; the client may try again later (RFC 6585, section 4). */
export class TooManyUnknownTokens extends LatchkeyError {
  readonly reason = 'too_many_requests' satisfies Reason
  readonly limit: ReachedLimit
  constructor(limit: ReachedLimit) {
    super('Too many tokens from this address were not valid. Please try again later.')
    this.limit = limit
  }
}

/** A store does not respond in time, or the outcome of a change is unknown. The client may repeat the request. */
export class Unavailable extends LatchkeyError {
  readonly reason = 'unavailable' satisfies Reason
  constructor(options?: ErrorOptions) {
    super('The service cannot answer right now. Please try again.', options)
  }
}
