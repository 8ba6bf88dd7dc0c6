import type { LatchkeyError } from '../../../domain/errors.ts'
import { failureHeaders, failureStatus } from './failure-response.ts'

/** RFC 6749, section 5.2, RFC 6750, section 3.1, and for failures of the server RFC 6749, section 4.1.2.1. */
const CODES: Readonly<Record<string, string>> = {
  missing_token: 'invalid_client',
  invalid_token: 'invalid_client',
  invalid_service_token: 'invalid_client',
  insufficient_scope: 'insufficient_scope',
  too_many_requests: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  internal: 'server_error',
}

/**
 * Returns the response of a failure as OAuth clients expect it. The challenge of a 401 names the scheme that the client used
 * (RFC 6749, section 5.2).
 */
export function toOAuthFailure(
  error: LatchkeyError,
  authorization: string | undefined,
): { status: number; headers: readonly string[]; text: string } {
  const status = failureStatus(error)
  const usesBasic = /^basic\b/i.test(authorization ?? '')
  const headers = failureHeaders(error).map((text) =>
    usesBasic ? text.replace(/^Bearer realm="service"$/, 'Basic realm="service", charset="UTF-8"') : text,
  )
  // The characters that RFC 6749 allows in a description exclude quotation marks.
  const description = error.message.replaceAll('"', "'").replaceAll(/[^ !#-[\]-~]/g, '?')
  const body = {
    error: CODES[error.reason] ?? 'invalid_request',
    error_description: description,
    success: false,
    code: status,
  }
  return { status, headers, text: JSON.stringify(body) }
}
