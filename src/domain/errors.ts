import type { ExceededLimit, ReachedLimit } from './login-limit.ts'

/** The sentence of each failure that always has the same one. The names are stable codes; never renamed. */
const MESSAGES = {
  missing_token: 'A bearer token is required.',
  invalid_token: 'The token is not valid.',
  invalid_credentials: 'The e-mail or the password is not right.',
  invalid_service_token: 'A valid service token is required.',
  reauthentication_required: 'A recent login is required. Please log in again.',
  login_token_required: 'Only a login token may do this.',
  too_many_sessions: 'The number of sessions is at its limit. End another session first.',
  validation_failed: 'The request does not have the expected shape.',
  unavailable: 'The service cannot respond right now. Please try again.',
} as const

/** The stable codes of the core's errors; never renamed. */
export type Reason = keyof typeof MESSAGES | 'insufficient_scope' | 'too_many_requests'

/** An error that may be shown to the client: `message` is a whole sentence without secrets. */
export abstract class LatchkeyError extends Error {
  abstract readonly reason: string

  override get name(): string {
    return this.constructor.name
  }
}

/** Returns the class of the errors of a reason, with its sentence. */
function failure<Code extends keyof typeof MESSAGES>(reason: Code) {
  return class extends LatchkeyError {
    readonly reason: Code = reason
    constructor(options?: ErrorOptions) {
      super(MESSAGES[reason], options)
    }
  }
}

/** No credentials were presented where a token is required (RFC 6750, section 3.1). */
export class MissingToken extends failure('missing_token') {}

/** The presented token is malformed, unknown, revoked or expired. The response is the same for all of them. */
export class InvalidToken extends LatchkeyError {
  readonly reason = 'invalid_token' satisfies Reason
  // Not a class of `failure`: one constructor fewer makes a flood of unknown tokens cost less.
  constructor() {
    super(MESSAGES.invalid_token)
  }
}

/** The presented text cannot be a token. The client gets the response of any invalid token; only the log differs. */
export class MalformedToken extends InvalidToken {}

/** The login was refused. The response does not reveal why. */
export class InvalidCredentials extends failure('invalid_credentials') {}

/** A service route was called without a configured service token. */
export class InvalidServiceToken extends failure('invalid_service_token') {}

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
export class LoginTokenRequired extends failure('login_token_required') {}

/** The login token is older than the route allows: the customer must log in again (RFC 9470). */
export class ReauthenticationRequired extends failure('reauthentication_required') {
  /** The age that the route allows, in milliseconds. */
  readonly maxAgeMs: number
  constructor(maxAgeMs: number) {
    super()
    this.maxAgeMs = maxAgeMs
  }
}

/** The password is right, but the customer holds as many sessions as are allowed. */
export class TooManySessions extends failure('too_many_sessions') {}

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
export class ValidationFailed extends failure('validation_failed') {
  readonly errors: FieldErrors
  readonly details: readonly FieldDetail[]
  constructor(errors: FieldErrors, details?: readonly FieldDetail[]) {
    super()
    this.errors = errors
    this.details =
      details ??
      Object.entries(errors).flatMap(([field, sentences]) =>
        sentences.map(() => ({ field, code: 'invalid' })),
      )
  }
}

/** Failures up to a limit, which the error names. */
abstract class TooManyFailures<Limit> extends LatchkeyError {
  readonly reason = 'too_many_requests' satisfies Reason
  readonly limit: Limit
  constructor(limit: Limit, sentence: string) {
    super(`${sentence} Please try again later.`)
    this.limit = limit
  }
}

/** Too many logins failed, by account or by address; the client may try again later (RFC 6585, section 4). */
export class TooManyLogins extends TooManyFailures<ExceededLimit> {
  constructor(limit: ExceededLimit) {
    super(limit, 'Too many logins have failed.')
  }
}

/** Too many tokens of an address were rejected; the client may try again later (RFC 6585, section 4). */
export class TooManyUnknownTokens extends TooManyFailures<ReachedLimit> {
  constructor(limit: ReachedLimit) {
    super(limit, 'Too many tokens from this address were not valid.')
  }
}

/** A store does not respond in time, or the outcome of a change is unknown. The client may repeat the request. */
export class Unavailable extends failure('unavailable') {}
