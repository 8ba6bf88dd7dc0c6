import { LatchkeyError, Unavailable } from '../../domain/errors.ts'
import { OperatorError } from '../../lib/operator-error.ts'
import type { HttpReason } from './failure-reasons.ts'

/** A failure of the HTTP exchange, outside the use cases. */
export abstract class HttpError extends LatchkeyError {
  abstract override readonly reason: HttpReason
  /** Whether the connection closes after the response, because its later bytes cannot be trusted or are unwanted. */
  readonly closes: boolean = false
}

/** RFC 9112 requires a refusal: invalid framing, Host, version, method token, header or target. */
export class InvalidRequest extends HttpError {
  readonly reason = 'invalid_request'
  override readonly closes: boolean
  constructor({ closes }: { readonly closes: boolean }) {
    super('The request is not well-formed HTTP.')
    this.closes = closes
  }
}

/** The parameters of a form or a query are not those of the route. The sentence repeats none of them. */
export class InvalidParameters extends HttpError {
  readonly reason = 'invalid_request'
}

/** The body is not JSON in UTF-8, or a required body is missing. */
export class InvalidJson extends HttpError {
  readonly reason = 'invalid_json'
  constructor() {
    super('The body must be JSON in UTF-8.')
  }
}

/** The request is only allowed from the service's own page, and does not come from it. */
export class SameOriginRequired extends HttpError {
  readonly reason = 'same_origin_required'
  constructor() {
    super('Only a page of this service may send this request.')
  }
}

/** No route has this path, or a handler did not find the resource. */
export class NotFound extends HttpError {
  readonly reason = 'not_found'
  constructor(sentence = 'Nothing was found at this path.') {
    super(sentence)
  }
}

/** A route has this path, but not this method. */
export class MethodNotAllowed extends HttpError {
  readonly reason = 'method_not_allowed'
  readonly allow: string
  constructor(allow: string) {
    super('The path does not support this method.')
    this.allow = allow
  }
}

/** Headers or body arrived too slowly. */
export class RequestTimeout extends HttpError {
  readonly reason = 'request_timeout'
  override readonly closes = true
  constructor() {
    super('The request took too long to arrive.')
  }
}

/** From a handler: the request conflicts with the current state (RFC 9110, section 15.5.10). */
export class Conflict extends HttpError {
  readonly reason = 'conflict'
  constructor(sentence = 'The request conflicts with the current state.') {
    super(sentence)
  }
}

/** The body is larger than the route accepts. */
export class PayloadTooLarge extends HttpError {
  readonly reason = 'payload_too_large'
  override readonly closes = true
  constructor() {
    super('The body is larger than this route accepts.')
  }
}

/** A required body is of a type that the route does not accept, or has a content coding. */
export class UnsupportedMediaType extends HttpError {
  readonly reason = 'unsupported_media_type'
  /** The accepted media types; null when the content coding is refused. */
  readonly accepts: readonly string[] | null
  constructor(accepts: readonly string[] | null) {
    super(
      accepts === null
        ? 'The body must be sent without a content coding.'
        : `The body must be sent as ${accepts.join(' or ').replace(/^application\/json$/, '$& in UTF-8')}.`,
    )
    this.accepts = accepts
  }
}

/** The `Expect` header asks for something other than `100-continue`. */
export class ExpectationFailed extends HttpError {
  readonly reason = 'expectation_failed'
  constructor() {
    super('The expectation cannot be met.')
  }
}

/** Too many header bytes or lines. Headers are never dropped silently. */
export class HeadersTooLarge extends HttpError {
  readonly reason = 'headers_too_large'
  override readonly closes = true
  constructor() {
    super('The headers are too large or too many.')
  }
}

/** A bug. The client gets only the request id, with which the error is logged. */
export class Internal extends HttpError {
  readonly reason = 'internal'
  constructor(cause: unknown) {
    super('Something went wrong on our side.', { cause })
  }
}

/** The cause of a 503 after the deadline of a route. */
export class DeadlinePassed extends OperatorError {
  override readonly name = 'DeadlinePassed'
  constructor(deadlineMs: number) {
    super(`There was no response within ${deadlineMs} ms.`)
  }
}

/** The result of each readiness check, by name. */
export type Checks = Readonly<Record<string, string>>

/** The service is not ready. `checks` is null for clients that may not see them. */
export class NotReady extends Unavailable {
  readonly checks: Checks | null
  constructor(checks: Checks | null) {
    super()
    this.checks = checks
  }
}
