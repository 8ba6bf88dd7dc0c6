import { isAbility } from '../../../domain/abilities.ts'
import {
  type InsufficientScope,
  InsufficientServiceScope,
  type LatchkeyError,
  type ReauthenticationRequired,
  TooManyLogins,
  TooManyUnknownTokens,
  ValidationFailed,
} from '../../../domain/errors.ts'
import type { ReachedLimit } from '../../../domain/login-limit.ts'
import { ApiError } from '../api-error.ts'
import { MethodNotAllowed, NotReady, UnsupportedMediaType } from '../errors.ts'
import { type FailureReason, STATUS_BY_REASON } from '../failure-reasons.ts'
import { headerList } from './response-headers.ts'

type HeaderList = readonly string[]

/** Returns the response of a failure. `text` is the envelope. */
export function toFailureResponse(
  error: LatchkeyError,
  requestId: string,
): { status: number; headers: HeaderList; text: string } {
  const status = failureStatus(error)
  // A template takes a quarter of the time of `JSON.stringify`. Reason and id need no escaping.
  const envelope = `"success":false,"code":${status},"error":${JSON.stringify(error.message)},"reason":"${error.reason}","request_id":"${requestId}"`
  const errors =
    error instanceof ValidationFailed
      ? `,"errors":${JSON.stringify(error.errors)},"details":${JSON.stringify(error.details)}`
      : ''
  const checks = error instanceof NotReady && error.checks ? `,"checks":${JSON.stringify(error.checks)}` : ''
  return { status, headers: failureHeaders(error), text: `{${envelope}${errors}${checks}}` }
}

/** Returns the status of a failure. */
export function failureStatus(error: LatchkeyError): number {
  return error instanceof ApiError ? error.status : STATUS_BY_REASON[error.reason as FailureReason]
}

/** Returns the headers of a failure, beside those of every response. */
export function failureHeaders(error: LatchkeyError): HeaderList {
  if (error instanceof ApiError) return headerList(error.headers)
  if (error instanceof MethodNotAllowed) return ['Allow', error.allow]
  if (error instanceof UnsupportedMediaType) {
    return error.accepts === null ? ['Accept-Encoding', 'identity'] : ['Accept', error.accepts.join(', ')]
  }
  if (error.reason === 'unavailable') return ['Retry-After', '1']
  if (error instanceof TooManyLogins || error instanceof TooManyUnknownTokens)
    return limitHeaders(error.limit)
  const challenge = authenticateChallenge(error)
  return challenge === null ? [] : ['WWW-Authenticate', challenge]
}

/** RFC 9110, section 10.2.3, and draft-ietf-httpapi-ratelimit-headers. */
function limitHeaders({ name, failures, windowMs, retryAfterMs }: ReachedLimit): HeaderList {
  const [window, wait] = [windowMs, retryAfterMs].map((ms) => Math.max(1, Math.ceil(ms / 1000)))
  return [
    'Retry-After',
    String(wait),
    'RateLimit-Policy',
    `"${name}";q=${failures};w=${window}`,
    'RateLimit',
    `"${name}";r=0;t=${wait}`,
  ]
}

/** RFC 6750, section 3. */
function authenticateChallenge(error: LatchkeyError): string | null {
  switch (error.reason) {
    case 'missing_token':
    case 'invalid_credentials':
      return 'Bearer realm="api"'
    case 'invalid_token':
      return 'Bearer realm="api", error="invalid_token"'
    // RFC 9470, section 3.
    case 'reauthentication_required':
      return `Bearer realm="api", error="insufficient_user_authentication", max_age=${Math.floor((error as ReauthenticationRequired).maxAgeMs / 1000)}`
    case 'invalid_service_token':
      return 'Bearer realm="service"'
    case 'insufficient_scope':
      if (error instanceof InsufficientServiceScope)
        return `Bearer realm="service", error="insufficient_scope", scope="${error.required.join(' ')}"`
      return `Bearer realm="api", error="insufficient_scope"${scopeParameter(error as InsufficientScope)}`
    default:
      return null
  }
}

/** Includes only valid abilities: a handler may have built others from the client's input. */
function scopeParameter({ required }: InsufficientScope): string {
  const words = required.filter(isAbility)
  return words.length === 0 ? '' : `, scope="${words.join(' ')}"`
}
