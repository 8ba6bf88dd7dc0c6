/** An error whose message is written for operators: commands print it, and logs contain it, as it is. */
export abstract class OperatorError extends Error {
  readonly forOperators = true
}

/** Whether the message is written for operators. Also accepts errors of custom databases, which have only the property. */
export function isForOperators(error: unknown): error is Error {
  return error instanceof Error && 'forOperators' in error && error.forOperators === true
}
