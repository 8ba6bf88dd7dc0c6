/**
 * The log for operators, with one line for each event. Its fields are an allow-list, so that no secret can be logged. No
 * method throws. An adapter may block briefly, but never until a reader responds.
 */
export interface Log {
  /** Logs an event that needs no action. */
  info(event: string, fields?: LogFields): void
  /** Logs an event that an operator should look into. */
  warn(event: string, fields?: LogFields): void
  /** Logs a failure that an operator must act on. */
  error(event: string, fields?: LogFields): void
}

/** The parts of an error that may be logged. A field is left out when it is unknown. */
export interface ErrorFields {
  /** The class of the error. */
  readonly error?: string
  /** A SQLSTATE or the code of a system error. */
  readonly code?: string
  /** The error's message. `LOG_ERROR_MESSAGES=off` omits it, unless the message is the service's own. */
  readonly message?: string
  /** The stack frames, without the message. */
  readonly stack?: string
  /** The errors that caused this one, the nearest first. */
  readonly causes?: readonly ErrorFields[]
}

/** The fields of a log line. A field is left out when it is unknown or does not apply. */
export interface LogFields extends ErrorFields {
  readonly request_id?: string
  /** The trace id (W3C Trace Context). */
  readonly trace_id?: string
  /** The id of the request's span in that trace. */
  readonly span_id?: string
  readonly method?: string
  /** The route's template, never the path of the request. */
  readonly route?: string
  /** The HTTP status code of the response. */
  readonly status?: number
  /** The network address of the client. */
  readonly address?: string
  /** The number of occurrences that the line stands for. */
  readonly count?: number
  /** The signal that the process received. */
  readonly signal?: string
  /** A short text about the event, without secrets. */
  readonly detail?: string
}
