import type { Customer } from '../../domain/customer.ts'
import type { LoginToken, OwnedToken } from '../../domain/login-token.ts'
import type { AnswerFields } from './route.ts'

/** The text of a success, with its length. */
export class AnswerText {
  readonly text: string
  readonly bytes: number

  constructor(fields: AnswerFields | undefined) {
    this.text = JSON.stringify({ success: true, ...fields })
    this.bytes = Buffer.byteLength(this.text)
  }
}

/** One that is sent as often as its customer asks. */
class KeptAnswer extends AnswerText {
  readonly customer: Customer

  constructor(fields: AnswerFields, customer: Customer) {
    super(fields)
    this.customer = customer
  }
}

/**
 * A handler that answers what `present`, a pure function, makes of token and customer. The text is kept for as long as
 * anybody keeps the two, which a cache of validations does: so it is made once for each of its entries.
 */
export function keptFor(present: (caller: OwnedToken) => AnswerFields): (caller: OwnedToken) => AnswerText {
  const kept = new WeakMap<LoginToken, KeptAnswer>()
  return function handle(caller) {
    const { token, customer } = caller
    const found = kept.get(token)
    // A store may hand out the same token with a customer who has changed.
    if (found?.customer === customer) return found
    const answer = new KeptAnswer(present(caller), customer)
    kept.set(token, answer)
    return answer
  }
}
