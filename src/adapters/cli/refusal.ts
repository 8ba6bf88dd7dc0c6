/** A command cannot do what was asked; `message` is one clear line for the operator. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** Any error with this mark is shown by its message alone, whichever adapter it comes from. */
  readonly forOperators = true
}

/** The operator left a prompt: nothing was done, and nothing needs to be said. */
export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}
