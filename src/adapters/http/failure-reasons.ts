import type { LatchkeyError, Reason } from '../../domain/errors.ts'

/** The reasons of failures that only HTTP has. */
export type HttpReason =
  | 'invalid_request'
  | 'invalid_json'
  | 'same_origin_required'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'conflict'
  | 'gone'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'headers_too_large'
  | 'internal'

/** The reason of a failure: a stable identifier. */
export type FailureReason = Reason | HttpReason

/** The status of each reason (RFC 9110, section 15). A reason without a status does not compile. */
export const STATUS_BY_REASON: Readonly<Record<FailureReason, number>> = {
  invalid_request: 400,
  invalid_json: 400,
  missing_token: 401,
  invalid_token: 401,
  invalid_credentials: 401,
  invalid_service_token: 401,
  reauthentication_required: 401,
  insufficient_scope: 403,
  login_token_required: 403,
  same_origin_required: 403,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  too_many_sessions: 409,
  gone: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  validation_failed: 422,
  too_many_requests: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
}

/** Whether the table has a status for the error's reason. */
export function hasStatus({ reason }: LatchkeyError): boolean {
  return Object.hasOwn(STATUS_BY_REASON, reason)
}
