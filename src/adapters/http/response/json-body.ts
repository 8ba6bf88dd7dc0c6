import type * as v from 'valibot'
import type { Customer } from '../../../domain/customer.ts'
import type { LoginToken, OwnedToken } from '../../../domain/login-token.ts'
import { conforming } from './response-mismatch.ts'

/** The fields of a success. `success: true` is added before them. */
export type ResponseFields = Readonly<Record<string, unknown>>

/** The JSON text of a success, with its length in bytes. */
export class JsonBody {
  readonly text: string
  readonly bytes: number

  constructor(fields: ResponseFields | undefined) {
    this.text = toJsonText(fields)
    this.bytes = Buffer.byteLength(this.text)
  }
}

const SUCCESS = { success: true }

/** Returns the fields as JSON after `success: true`, which no field can override. */
export function toJsonText(fields: ResponseFields | undefined): string {
  return JSON.stringify({ ...SUCCESS, ...fields, ...SUCCESS })
}

/** A body that is sent for each request of its customer. */
class CachedBody extends JsonBody {
  readonly customer: Customer

  constructor(fields: ResponseFields, customer: Customer) {
    super(fields)
    this.customer = customer
  }
}

/**
 * Returns a handler that responds with `present(caller)`, checked by `returns`; `present` must be pure. The text is cached
 * for as long as the token is referenced, so it is created once for each entry of the validation cache.
 */
export function cachedBodies(
  returns: v.GenericSchema<unknown, ResponseFields>,
  present: (caller: OwnedToken) => unknown,
): (caller: OwnedToken) => JsonBody {
  const bodies = new WeakMap<LoginToken, CachedBody>()
  return function handle(caller) {
    const { token, customer } = caller
    const found = bodies.get(token)
    // A store may return the same token with a changed customer.
    if (found?.customer === customer) return found
    const body = new CachedBody(conforming(returns, present(caller)), customer)
    bodies.set(token, body)
    return body
  }
}
