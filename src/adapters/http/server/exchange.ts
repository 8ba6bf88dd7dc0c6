import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AccessLog, RespondedRequest } from '../../../application/ports/access-log.ts'
import type { Requester } from '../../../application/requester.ts'
import type { HttpError } from '../errors.ts'
import { clientAddress } from '../request/client-address.ts'
import { parseTraceId } from '../request/trace-context.ts'

/** The span of an exchange, where requests are traced. */
export interface ExchangeSpan {
  readonly traceId: string
  end(ended: Pick<Exchange, 'route' | 'status'>): void
}

/** What is told of an exchange that is over. */
export interface Ended {
  /** Null where no request could be read. */
  readonly method: string | null
  /** The route's template; null where none was matched. */
  readonly route: string | null
  /** Null where nobody was answered. */
  readonly status: number | null
  /** By the monotonic clock; null where no request could be read. */
  readonly beganMs: number | null
}

/** One request with its answer, as the steps hand it on. */
export class Exchange implements RespondedRequest, Requester {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** Headers that every answer of this exchange carries, such as those of CORS. */
  readonly headers: readonly string[]
  readonly accessLog: AccessLog
  readonly beganMs = performance.now()
  /** Bytes of body that are read: the route's limit once it is known. */
  bodyLimitBytes: number
  /** Waits with a `100 Continue` until the body is wanted (RFC 9110, section 10.1.1). */
  awaitsContinue: boolean
  /** Whether the connection ends with this answer. */
  closes = false
  responded = false
  /** Whether a list is being sent, which is answered and not yet over. */
  streams = false
  /** The template of the route that was matched, for logs. */
  route: string | null = null
  malformedToken = false
  /** What the parser found wrong with the body, which may be before anybody reads it. */
  bodyFailure: HttpError | null = null
  /** Whether the body arrived after the head, so that what was checked before may have changed. */
  bodyWasLate = false
  span: ExchangeSpan | null = null
  private cancelled: Error | null = null
  /** Made for those who ask: it costs more than all other steps of a request together. */
  private cancelling: AbortController | null = null
  private readonly trustedProxies: number
  private knownAddress: string | null = null
  /** Rejects the body that is being read, or stops waiting for the rest of it; null when nobody does either. */
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
    this.requestId = acceptRequestId(request.headers['x-request-id'])
    this.awaitsContinue = options.awaitsContinue
    this.bodyLimitBytes = options.bodyLimitBytes
    this.headers = options.headers
    this.accessLog = options.accessLog
    this.trustedProxies = options.trustedProxies
  }

  get address(): string {
    this.knownAddress ??= clientAddress(this.request, this.trustedProxies)
    return this.knownAddress
  }

  get signal(): AbortSignal {
    if (this.cancelling === null) {
      this.cancelling = new AbortController()
      if (this.cancelled !== null) this.cancelling.abort(this.cancelled)
    }
    return this.cancelling.signal
  }

  /** Whether the error tells no more than that this request was called off: it was answered, or has nobody to answer. */
  isCalledOff(error: unknown): boolean {
    if (this.cancelled !== null && (error === this.cancelled || causeOf(error) === this.cancelled))
      return true
    // That the client of another request went away is no answer to this one.
    return error instanceof ClientGone && (this.cancelled !== null || this.request.socket.destroyed)
  }

  /** Nobody waits for the answer any more: work that was asked for can stop. */
  cancel(reason: Error): void {
    this.cancelled ??= reason
    this.cancelling?.abort(this.cancelled)
  }

  /** Of the span where there is one, else what the caller sent (W3C Trace Context). */
  get traceId(): string | null {
    return this.span?.traceId ?? parseTraceId(this.request.headers.traceparent)
  }

  get method(): string | null {
    return this.request.method ?? null
  }

  /** Null for as long as nothing is answered. */
  get status(): number | null {
    return this.responded ? this.response.statusCode : null
  }

  /** The rest of the body will not come, or cannot be understood. */
  failBody(error: HttpError): void {
    this.bodyFailure = error
    this.rejectBody?.(error)
  }

  /** Bytes of body that the head announces: 0 for none, null where the length is not known beforehand. */
  get declaredBytes(): number | null {
    const { headers } = this.request
    if (headers['transfer-encoding'] !== undefined) return null
    const length = headers['content-length']
    return length === undefined ? 0 : Number(length)
  }

  /** Whether all of the request is there: the parser tells of the end a moment after the head, also without a body. */
  get isWhole(): boolean {
    return this.request.complete || this.declaredBytes === 0
  }
}

/** Node's own functions reject with an error of their own when a signal aborts, and have its reason as the cause. */
function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}

/** The client left before the exchange was over: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** One for every request that ends: a stack for each would cost as much as all of the request. */
export const CLIENT_GONE = new ClientGone()

/** The caller's own id where it is fit for a log line, else a new one. */
export function acceptRequestId(presented: string | string[] | undefined): string {
  return typeof presented === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(presented) ? presented : randomUUID()
}
