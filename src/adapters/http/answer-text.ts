import type * as v from 'valibot'
import type { Customer } from '../../domain/customer.ts'
import type { LoginToken, OwnedToken } from '../../domain/login-token.ts'
import { conforming } from './response-mismatch.ts'

/** The fields of a success; `success: true` is put before them. */
export type AnswerFields = Readonly<Record<string, unknown>>

/** The text of a success, with its length. */
export class AnswerText {
  readonly text: string
  readonly bytes: number

  constructor(fields: AnswerFields | undefined) {
    this.text = textOf(fields)
    this.bytes = Buffer.byteLength(this.text)
  }
}

const SUCCESS = { success: true }

/** The fields as JSON, `success` before them, which none of them can take back. */
export function textOf(fields: AnswerFields | undefined): string {
  return JSON.stringify({ ...SUCCESS, ...fields, ...SUCCESS })
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
 * A handler that answers what `present`, a pure function, makes of token and customer, as `returns` has it. The text is kept
 * for as long as anybody keeps the two, which a cache of validations does: so it is made once for each of its entries.
 */
export function keptFor(
  returns: v.GenericSchema<unknown, AnswerFields>,
  present: (caller: OwnedToken) => unknown,
): (caller: OwnedToken) => AnswerText {
  const kept = new WeakMap<LoginToken, KeptAnswer>()
  return function handle(caller) {
    const { token, customer } = caller
    const found = kept.get(token)
    // A store may hand out the same token with a customer who has changed.
    if (found?.customer === customer) return found
    const answer = new KeptAnswer(conforming(returns, present(caller)), customer)
    kept.set(token, answer)
    return answer
  }
}
