/** The data of an ended request, for metrics and tracing. */
export interface EndedRequest {
  /** Null when no request could be read. */
  readonly method: string | null
  /** The route's template; null when no route matched. */
  readonly route: string | null
  /** The HTTP status code; null when no response was sent, or it was broken off. */
  readonly status: number | null
  /** Start in milliseconds of the monotonic clock; null when no request could be read. */
  readonly beganMs: number | null
}

/** The tracing span of one request. */
export interface RequestSpan {
  /** The trace id (W3C Trace Context): 32 hexadecimal digits. */
  readonly traceId: string
  /** The span's own id (W3C Trace Context): 16 hexadecimal digits. */
  readonly spanId: string
  /** Names the span after the template of the matched route. */
  match(route: string): void
  /** Sets the status on the span, and ends it. */
  end(ended: Pick<EndedRequest, 'status'>): void
}

/** Why the server closed or refused a connection. */
export type DropReason = 'idle' | 'refused' | 'stalled'
