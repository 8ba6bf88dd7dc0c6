import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AccessLog, RespondedRequest } from '../../../application/ports/access-log.ts'
import type { RequestSpan } from '../../../application/ports/request-observers.ts'
import type { Requester } from '../../../application/requester.ts'
import type { HttpError } from '../errors.ts'
import { clientAddress } from '../request/client-address.ts'
import { parseTraceId } from '../request/trace-context.ts'
import { ClientGone } from './client-gone.ts'

/** One request with its response. Each step of the dispatch receives it. */
export class Exchange implements RespondedRequest, Requester {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** Headers of every response of this exchange, such as the CORS headers. */
  readonly headers: readonly string[]
  readonly accessLog: AccessLog
  readonly beganMs = performance.now()
  /** The body size in bytes that the head declares: 0 without a body, null when the length is not declared. */
  readonly declaredBytes: number | null
  /** The maximum body size: the service's limit, then the route's once it is known. */
  bodyLimitBytes: number
  /** Whether the client waits for a `100 Continue`, which is sent when the body is read (RFC 9110, section 10.1.1). */
  awaitsContinue: boolean
  /** Whether the connection closes after this response. */
  closes = false
  responded = false
  /** Whether the response is being streamed: it has started and not ended. */
  streams = false
  /** The template of the matched route, for logs. */
  route: string | null = null
  malformedToken = false
  /** The parser's failure in the body. It may be set before the body is read. */
  bodyFailure: HttpError | null = null
  /** Whether the body arrived after the head, so that earlier checks may be out of date. */
  bodyWasLate = false
  span: RequestSpan | null = null
  private isBrokenOff = false
  private cancelled: Error | null = null
  /** Created on first use: it costs more than all other steps of a request together. */
  private cancelling: AbortController | null = null
  private readonly trustedProxies: number
  private cachedAddress: string | null = null
  /** Rejects the pending read of the body, or stops the wait for the rest of it; null when neither is pending. */
  rejectBody: ((error: HttpError) => void) | null = null

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    options: {
      readonly awaitsContinue: boolean
      readonly bodyLimitBytes: number
      readonly headers: readonly string[]
      readonly accessLog: AccessLog
      readonly trustedProxies: number
    },
  ) {
    this.request = request
    this.response = response
    const { headers } = request
    this.requestId = acceptRequestId(headers['x-request-id'])
    this.declaredBytes = declaredSize(headers)
    this.awaitsContinue = options.awaitsContinue
    this.bodyLimitBytes = options.bodyLimitBytes
    this.headers = options.headers
    this.accessLog = options.accessLog
    this.trustedProxies = options.trustedProxies
  }

  get address(): string {
    this.cachedAddress ??= clientAddress(this.request, this.trustedProxies)
    return this.cachedAddress
  }

  get signal(): AbortSignal {
    if (this.cancelling === null) {
      this.cancelling = new AbortController()
      if (this.cancelled !== null) this.cancelling.abort(this.cancelled)
    }
    return this.cancelling.signal
  }

  /** Whether the error only reports the cancellation of this request: its response is sent, or its client is gone. */
  isCancellation(error: unknown): boolean {
    if (this.cancelled !== null && (error === this.cancelled || getCause(error) === this.cancelled))
      return true
    // The error may come from another request whose client has gone. This request then fails like any other.
    return error instanceof ClientGone && (this.cancelled !== null || this.request.socket.destroyed)
  }

  /** Cancels the work for this request, because no client waits for its response. */
  cancel(reason: Error): void {
    this.cancelled ??= reason
    this.cancelling?.abort(this.cancelled)
  }

  /** The span's trace id; without a span, the one that the client sent (W3C Trace Context). */
  get traceId(): string | null {
    return this.span?.traceId ?? parseTraceId(this.request.headers.traceparent)
  }

  get method(): string | null {
    return this.request.method ?? null
  }

  /** Null until the response has started, and when it was broken off. */
  get status(): number | null {
    return this.responded && !this.isBrokenOff ? this.response.statusCode : null
  }

  /** Ends a response that has started and cannot be completed, so that its client notices. */
  breakOff(): void {
    this.isBrokenOff = true
    this.response.destroy()
  }

  /** Reports that the rest of the body will not arrive or cannot be parsed. */
  failBody(error: HttpError): void {
    this.bodyFailure = error
    this.rejectBody?.(error)
  }

  /** Whether the whole request has arrived. Even without a body, the parser reports the end some time after the head. */
  get isWhole(): boolean {
    return this.declaredBytes === 0 || this.request.complete
  }
}

function declaredSize(headers: IncomingHttpHeaders): number | null {
  if (headers['transfer-encoding'] !== undefined) return null
  const length = headers['content-length']
  return length === undefined ? 0 : Number(length)
}

/** When a signal aborts, node's functions reject with their own error, whose cause is the signal's reason. */
function getCause(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}

/** Returns the client's request id if it is safe in a log line, or a new one. */
function acceptRequestId(presented: string | string[] | undefined): string {
  return typeof presented === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(presented) ? presented : randomUUID()
}
