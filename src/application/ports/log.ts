/** What happened, for operators: one line an event. Fields are an allow-list, so that no secret can slip in. */
export interface Log {
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

/** An error, as far as it may be logged. */
export interface ErrorFields {
  /** An error's class. */
  readonly error?: string
  /** A SQLSTATE or a system error's code. */
  readonly code?: string
  /** What the error says, unless `LOG_ERROR_MESSAGES` is off; the service's own sentences always. */
  readonly message?: string
  /** Stack frames without the message. */
  readonly stack?: string
  readonly causes?: readonly ErrorFields[]
}

export interface LogFields extends ErrorFields {
  readonly request_id?: string
  readonly trace_id?: string
  readonly method?: string
  /** The route's template, never the path that was sent. */
  readonly route?: string
  readonly status?: number
  readonly address?: string
  readonly signal?: string
  readonly detail?: string
}
