import { LatchkeyError } from '../../domain/errors.ts'
import { type FailureReason, STATUS_BY_REASON } from './failure-reasons.ts'
import { headerList, type ResponseHeaders } from './response/response-headers.ts'

/**
 * An error of your own routes. A subclass sets a status from 400 to 599 and a reason, which clients switch on:
 *
 * ```ts
 * class PaymentRequired extends ApiError { status = 402; reason = 'payment_required' }
 * ```
 *
 * `message` is a complete sentence that is safe to display. `headers` are sent with the error. An error of status 500 or
 * higher is logged.
 */
export abstract class ApiError extends LatchkeyError {
  abstract readonly status: number
  readonly headers: ResponseHeaders = {}

  constructor(sentence = 'The request cannot be fulfilled.', options?: ErrorOptions) {
    super(sentence, options)
  }
}

/** An error in `throws`: a reason of the service, or a class that needs no arguments. */
export type ThrownError = FailureReason | (new () => LatchkeyError)

/** The caller may not do this. */
export class Forbidden extends ApiError {
  readonly status = 403
  readonly reason = 'forbidden'
  constructor(sentence = 'The caller may not do this.') {
    super(sentence)
  }
}

/** The resource existed and is gone for good (RFC 9110, section 15.5.11). */
export class Gone extends ApiError {
  readonly status = 410
  readonly reason = 'gone'
  constructor(sentence = 'The resource no longer exists.') {
    super(sentence)
  }
}

/** The resource has changed: a condition such as `If-Match` does not hold (RFC 9110, section 15.5.13). */
export class PreconditionFailed extends ApiError {
  readonly status = 412
  readonly reason = 'precondition_failed'
  constructor(sentence = 'The resource has changed since it was read.') {
    super(sentence)
  }
}

/** The caller exceeds a limit of the route, and may try again after a number of seconds (RFC 6585, section 4). */
export class TooManyRequests extends ApiError {
  readonly status = 429
  readonly reason = 'too_many_requests'
  override readonly headers: ResponseHeaders
  constructor(retryAfterSeconds = 1, sentence = 'Too many requests. Please try again later.') {
    super(sentence)
    this.headers = { 'Retry-After': Math.max(0, Math.ceil(retryAfterSeconds)) }
  }
}

/** Creates an error of the class, for the documentation. Returns null if it is not a `LatchkeyError` or needs arguments. */
export function createSample(thrown: new () => LatchkeyError): LatchkeyError | null {
  try {
    const sample = new thrown()
    return sample instanceof LatchkeyError ? sample : null
  } catch {
    return null
  }
}

/** Returns the mistake in the class of an error as one sentence, or null. */
export function apiErrorProblem({ name, status, reason, headers }: ApiError): string | null {
  if (!Number.isInteger(status) || status < 400 || status > 599)
    return `${name}: status must be a whole number from 400 to 599.`
  if (typeof reason !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(reason))
    return `${name}: reason must be a word such as payment_required.`
  const taken = Object.hasOwn(STATUS_BY_REASON, reason) ? STATUS_BY_REASON[reason as FailureReason] : status
  if (taken !== status) return `${name}: the reason ${reason} belongs to the status ${taken}.`
  const fixed = Object.keys(headers).find((header) => /^(content-type|cache-control)$/i.test(header))
  if (fixed !== undefined) return `${name}: the service sets the header ${fixed} of errors itself.`
  try {
    headerList(headers)
    return null
  } catch (error) {
    return `${name}: ${(error as Error).message}`
  }
}
