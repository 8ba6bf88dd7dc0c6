import type { OwnedToken } from '../../domain/login-token.ts'
import type { AnswerFields } from './route.ts'

/** The text of a success, made once and sent as often as it is answered. */
export class KeptAnswer {
  readonly text: string
  readonly bytes: number
  /** Of whom it speaks, where it is kept. */
  readonly customer: object | null

  constructor(fields: AnswerFields | undefined, customer: object | null = null) {
    this.text = JSON.stringify({ success: true, ...fields })
    this.bytes = Buffer.byteLength(this.text)
    this.customer = customer
  }
}

/**
 * A handler that answers what `present`, a pure function, makes of token and customer. The text is kept for as long as
 * anybody keeps the two, which a cache of validations does: so it is made once for each of its entries.
 */
export function keptFor(present: (caller: OwnedToken) => AnswerFields): (caller: OwnedToken) => KeptAnswer {
  const kept = new WeakMap<object, KeptAnswer>()
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
