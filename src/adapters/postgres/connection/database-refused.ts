import { OperatorError } from '../../../lib/operator-error.ts'
/** The database cannot be used in its current state. `message` is one line for the operator, without secrets. */
export class DatabaseRefused extends OperatorError {
  override readonly name: string = 'DatabaseRefused'
}

/** The database could not be reached; a later attempt may succeed. */
export class DatabaseUnreachable extends DatabaseRefused {
  override readonly name = 'DatabaseUnreachable'
}
