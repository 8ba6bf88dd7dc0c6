import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AccessLog, RespondedRequest } from '../../../application/ports/access-log.ts'
import type { RequestSpan } from '../../../application/ports/request-observers.ts'
import type { Requester } from '../../../application/requester.ts'
import type { HttpError } from '../errors.ts'
import { clientAddress } from '../request/client-address.ts'
import { RequestHead } from '../request/request-head.ts'
import { parseTraceId } from '../request/trace-context.ts'
import { isCausedBy } from './client-gone.ts'
import type { ExchangeSettings } from './server-options.ts'

const NO_HEADERS: readonly string[] = []

/** One request with its response. Each step of the dispatch receives it. */
export class Exchange implements RespondedRequest, Requester {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly head: RequestHead
  readonly requestId: string
  /** Headers of every response of this exchange, such as the CORS headers. */
  headers: readonly string[] = NO_HEADERS
  readonly settings: ExchangeSettings
  readonly beganMs = performance.now()
  /** The body size in bytes that the head declares: 0 without a body, null when the length is not declared. */
  readonly declaredBytes: number | null
  /** The maximum body size: the service's limit, then the route's once it is known. */
  bodyLimitBytes: number
  /** Whether the client waits for a `100 Continue`, which is sent when the body is read (RFC 9110, section 10.1.1). */
  awaitsContinue = false
  /** Whether the connection closes after this response. */
  closes = false
  responded = false
  /** Whether the operating system has the whole response. False when it is not known. */
  isSent = false
  /** Whether the response is being streamed: it has started and not ended. */
  streams = false
  /** The template of the matched route, for logs. */
  route: string | null = null
  malformedToken = false
  /** Whether its failures have the body of RFC 6749, section 5.2. */
  isOAuth = false
  /** Whether its connection has been taken over, so that it has no response any more. */
  isDetached = false
  onDetached: (() => void) | null = null
  /** The parser's failure in the body. It may be set before the body is read. */
  bodyFailure: HttpError | null = null
  /** Whether the body arrived after the head, so that earlier checks may be out of date. */
  bodyWasLate = false
  span: RequestSpan | null = null
  /** The context in which node reported the request; only with tracing. */
  traceContext: unknown = null
  private isBrokenOff = false
  private cancelled: Error | null = null
  /** Created on first use: it costs more than all other steps of a request together. */
  private cancelling: AbortController | null = null
  private cachedAddress: string | null = null
  /** Rejects the pending read of the body, or stops the wait for the rest of it; null when neither is pending. */
  rejectBody: ((error: HttpError) => void) | null = null

  constructor(request: IncomingMessage, response: ServerResponse, settings: ExchangeSettings) {
    this.request = request
    this.response = response
    this.head = new RequestHead(request.rawHeaders)
    this.requestId = acceptRequestId(this.head.requestId)
    this.declaredBytes = this.head.declaredBytes
    this.bodyLimitBytes = settings.bodyLimitBytes
    this.settings = settings
  }

  get accessLog(): AccessLog {
    return this.settings.accessLog
  }

  get address(): string {
    this.cachedAddress ??= clientAddress(this.request, this.settings.trustedProxies)
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
    return isCausedBy(this.cancelled, error, this.request.socket)
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

  get spanId(): string | null {
    return this.span?.spanId ?? null
  }

  get method(): string | null {
    return this.request.method ?? null
  }

  /** Null until the response has started, and when it was broken off. */
  get status(): number | null {
    return this.responded && !this.isBrokenOff ? this.response.statusCode : null
  }

  /** The connection is taken over for another protocol. */
  detach(): void {
    this.response.statusCode = 101
    this.isDetached = true
    this.onDetached?.()
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

/** Returns the client's request id if it is safe in a log line, or a new one. */
function acceptRequestId(presented: string | undefined): string {
  return presented !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(presented) ? presented : randomUUID()
}
