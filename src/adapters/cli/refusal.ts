import { OperatorError } from '../../lib/operator-error.ts'
/** A command cannot do what was requested; `message` is one line for the operator. */
export class Refusal extends OperatorError {
  override readonly name = 'Refusal'
}

/** The operator left a prompt. Nothing was changed, and nothing is printed. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}
