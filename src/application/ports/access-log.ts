/** Logs responses: failures only, or all of them. Neither throws nor waits. */
export interface AccessLog {
  /** Whether successful responses are logged too. If false, `responded` is called only for a status of 400 or higher. */
  readonly everyResponse: boolean
  /** Logs one response. `status` is its HTTP status code. */
  responded(request: RespondedRequest, status: number): void
}

/** Which responses are logged: refused ones, all of them, or none. */
export type AccessLogMode = 'failures' | 'all' | 'off'

/** What may be logged of a request and its response. */
export interface RespondedRequest {
  readonly requestId: string
  /** The network address of the client, as of `Requester`; null when the request could not be parsed. */
  readonly address: string | null
  /** The trace id (W3C Trace Context); null when the request belongs to no trace. */
  readonly traceId: string | null
  /** The id of the request's span in that trace; null without a span. */
  readonly spanId: string | null
  /** Null when the request could not be parsed. */
  readonly method: string | null
  /** The route's template, never the path of the request; null when no route matched. */
  readonly route: string | null
  /** When the request began, in milliseconds of the monotonic clock; null when the request could not be parsed. */
  readonly beganMs: number | null
  /** Whether the response refuses a text that cannot be a token. */
  readonly malformedToken: boolean
}
