import {
  InsufficientScope,
  InsufficientServiceScope,
  InvalidCredentials,
  InvalidServiceToken,
  InvalidToken,
  type LatchkeyError,
  LoginTokenRequired,
  MissingToken,
  ReauthenticationRequired,
  TooManyLogins,
  TooManySessions,
  TooManyUnknownTokens,
  Unavailable,
  ValidationFailed,
} from '../../../domain/errors.ts'
import { Forbidden, Gone, PreconditionFailed } from '../api-error.ts'
import {
  Conflict,
  ExpectationFailed,
  HeadersTooLarge,
  Internal,
  InvalidJson,
  InvalidRequest,
  MethodNotAllowed,
  NotFound,
  PayloadTooLarge,
  RequestTimeout,
  SameOriginRequired,
  UnsupportedMediaType,
} from '../errors.ts'
import type { FailureReason } from '../failure-reasons.ts'

/** One sample of each failure, or of each of its forms. The document shows the service's real responses to them. */
export const FAILURE_SAMPLES: Readonly<Record<FailureReason, readonly LatchkeyError[]>> = {
  invalid_request: [new InvalidRequest({ closes: false })],
  invalid_json: [new InvalidJson()],
  missing_token: [new MissingToken()],
  invalid_token: [new InvalidToken()],
  invalid_credentials: [new InvalidCredentials()],
  invalid_service_token: [new InvalidServiceToken()],
  insufficient_scope: [new InsufficientScope(['orders:read'])],
  reauthentication_required: [new ReauthenticationRequired(900_000)],
  login_token_required: [new LoginTokenRequired()],
  same_origin_required: [new SameOriginRequired()],
  forbidden: [new Forbidden()],
  not_found: [new NotFound()],
  method_not_allowed: [new MethodNotAllowed('OPTIONS, POST')],
  request_timeout: [new RequestTimeout()],
  conflict: [new Conflict()],
  too_many_sessions: [new TooManySessions()],
  gone: [new Gone()],
  precondition_failed: [new PreconditionFailed()],
  payload_too_large: [new PayloadTooLarge()],
  unsupported_media_type: [new UnsupportedMediaType(['application/json']), new UnsupportedMediaType(null)],
  expectation_failed: [new ExpectationFailed()],
  validation_failed: [
    new ValidationFailed({ email: ['Is required.'] }, [{ field: 'email', code: 'required' }]),
  ],
  too_many_requests: [
    new TooManyLogins({ name: 'account', failures: 10, windowMs: 900_000, retryAfterMs: 60_000 }),
    new TooManyUnknownTokens({ name: 'tokens', failures: 100, windowMs: 5000, retryAfterMs: 1000 }),
  ],
  headers_too_large: [new HeadersTooLarge()],
  internal: [new Internal(undefined)],
  unavailable: [new Unavailable()],
}

/** The samples that differ on a service route. */
export const SERVICE_FAILURE_SAMPLES: Readonly<Partial<Record<FailureReason, readonly LatchkeyError[]>>> = {
  insufficient_scope: [new InsufficientServiceScope(['reports'], ['reports'])],
}
