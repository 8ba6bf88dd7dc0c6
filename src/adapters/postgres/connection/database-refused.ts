/** The database cannot be used in its current state. `message` is one line for the operator, without secrets. */
export class DatabaseRefused extends Error {
  override readonly name: string = 'DatabaseRefused'
  /** The message is written for operators and is shown unchanged. */
  readonly forOperators = true
}

/** The database could not be reached; a later attempt may succeed. */
export class DatabaseUnreachable extends DatabaseRefused {
  override readonly name = 'DatabaseUnreachable'
}
