import type * as v from 'valibot'
import type { Customer } from '../../../domain/customer.ts'
import type { LoginToken, OwnedToken } from '../../../domain/login-token.ts'
import { conforming } from './response-mismatch.ts'

/** The fields of a success; `success: true` is put before them. */
export type ResponseFields = Readonly<Record<string, unknown>>

/** The text of a success, with its length. */
export class JsonBody {
  readonly text: string
  readonly bytes: number

  constructor(fields: ResponseFields | undefined) {
    this.text = toJsonText(fields)
    this.bytes = Buffer.byteLength(this.text)
  }
}

const SUCCESS = { success: true }

/** The fields as JSON, `success` before them, which none of them can take back. */
export function toJsonText(fields: ResponseFields | undefined): string {
  return JSON.stringify({ ...SUCCESS, ...fields, ...SUCCESS })
}

/** One that is sent as often as its customer asks. */
class CachedBody extends JsonBody {
  readonly customer: Customer

  constructor(fields: ResponseFields, customer: Customer) {
    super(fields)
    this.customer = customer
  }
}

/**
 * A handler that answers what `present`, a pure function, makes of token and customer, as `returns` has it. The text is kept
 * for as long as anybody keeps the two, which a cache of validations does: so it is made once for each of its entries.
 */
export function cachedBodies(
  returns: v.GenericSchema<unknown, ResponseFields>,
  present: (caller: OwnedToken) => unknown,
): (caller: OwnedToken) => JsonBody {
  const kept = new WeakMap<LoginToken, CachedBody>()
  return function handle(caller) {
    const { token, customer } = caller
    const found = kept.get(token)
    // A store may hand out the same token with a customer who has changed.
    if (found?.customer === customer) return found
    const answer = new CachedBody(conforming(returns, present(caller)), customer)
    kept.set(token, answer)
    return answer
  }
}
