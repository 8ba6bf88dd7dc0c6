/** What happened, for operators: one line an event. Fields are an allow-list, so that no secret can slip in. */
export interface Log {
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

export interface LogFields {
  readonly request_id?: string
  readonly trace_id?: string
  readonly method?: string
  /** The route's template, never the path that was sent. */
  readonly route?: string
  readonly status?: number
  /** An error's class. */
  readonly error?: string
  /** A SQLSTATE or a system error's code. */
  readonly code?: string
  /** Stack frames without the message, which may repeat input. */
  readonly stack?: string
  readonly address?: string
  readonly signal?: string
  readonly detail?: string
}
