import type * as v from 'valibot'
import type { OwnedToken } from '../../../domain/login-token.ts'
import { conforming } from './response-mismatch.ts'

/** The fields of a success. `success: true` is added before them. */
export type ResponseFields = Readonly<Record<string, unknown>>

/** One list for all bodies: a cache may hold many. */
const NO_HEADERS: readonly string[] = []

/** The JSON text of a success, with its length in bytes. */
export class JsonBody {
  readonly text: string
  readonly bytes: number
  /** Headers of this response, names and values in turn. */
  readonly headers: readonly string[]

  /** `text` replaces the envelope of a success. */
  constructor(
    fields: ResponseFields | undefined,
    {
      text = toJsonText(fields),
      headers = NO_HEADERS,
    }: { readonly text?: string; readonly headers?: readonly string[] } = {},
  ) {
    this.text = text
    this.bytes = Buffer.byteLength(this.text)
    this.headers = headers
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

/**
 * Returns a handler that responds with `present(caller)`, checked by `returns`; `present` must be pure. The text is stored
 * in the caller's memo, so it is created once for each entry of the validation cache.
 */
export function cachedBodies(
  returns: v.GenericSchema<unknown, ResponseFields>,
  present: (caller: OwnedToken) => unknown,
): (caller: OwnedToken) => JsonBody {
  return function handle(caller) {
    const { memo } = caller
    if (memo?.value instanceof JsonBody) return memo.value
    const body = new JsonBody(conforming(returns, present(caller)))
    if (memo !== undefined) memo.value = body
    return body
  }
}
