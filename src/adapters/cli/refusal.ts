/** A command cannot do what was requested; `message` is one line for the operator. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** An error with this mark is shown by its message alone, whichever adapter threw it. */
  readonly forOperators = true
}

/** The operator left a prompt. Nothing was changed, and nothing is printed. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}
