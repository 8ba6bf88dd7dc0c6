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

/**
 * Returns the fields as JSON after `success: true`, which no field can override. Honours `toJSON`. Throws a `TypeError` that
 * says what to return for a value that is no object of fields, and for a field that JSON cannot hold.
 */
export function toJsonText(fields: ResponseFields | undefined): string {
  const shown = fields === undefined ? fields : checkFields(fields)
  try {
    return JSON.stringify({ ...SUCCESS, ...shown, ...SUCCESS })
  } catch (error) {
    return JSON.stringify(shown, (key, value) => {
      if (typeof value !== 'bigint') return value
      throw new TypeError(
        `The field ${key} is a bigint, which JSON does not have: return a number or a text.`,
        {
          cause: error,
        },
      )
    })
  }
}

/** Returns the object whose fields are sent. The compiler refuses the others, but not in JavaScript. */
function checkFields(value: ResponseFields): ResponseFields {
  if (typeof value === 'object' && value !== null) {
    // The usual case first.
    if (value.constructor === Object && value.toJSON === undefined) return value
    if (typeof value.toJSON === 'function') {
      const shown: unknown = value.toJSON()
      return checkFields((isFields(shown) ? { ...shown } : shown) as ResponseFields)
    }
    if (isFields(value)) return value
  }
  const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
  throw new TypeError(`handle returned ${kind}: return an object of fields, or respond({ body }).`)
}

/** Whether the value is an object with names, rather than a list, bytes, a map or a stream. */
function isFields(value: unknown): value is ResponseFields {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  return !(Symbol.iterator in value || ('pipe' in value && typeof value.pipe === 'function'))
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
