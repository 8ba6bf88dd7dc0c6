/** Tells operators of answers: of those that refuse, or of all. Called for each, it neither throws nor waits. */
export interface AccessLog {
  /** Whether it asks for the successes, too. */
  readonly everyResponse: boolean
  responded(answer: RespondedRequest, status: number): void
}

/** What may be told of an answer. */
export interface RespondedRequest {
  readonly requestId: string
  /** Of W3C Trace Context; null where the request is part of no trace. */
  readonly traceId: string | null
  /** Null where no request could be read. */
  readonly method: string | null
  /** The route's template, never the path that was sent; null where none was matched. */
  readonly route: string | null
  /** When the request began, by the monotonic clock; null where no request could be read. */
  readonly beganMs: number | null
  /** Whether it refuses a text that cannot be a token. */
  readonly malformedToken: boolean
}
