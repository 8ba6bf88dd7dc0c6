import { InvalidParameters } from '../errors.ts'
import { decodeUtf8 } from './utf8.ts'

/** The media type of a form (WHATWG URL, section 5.1). */
export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** RFC 6750, section 2.3, and the form fields of RFC 7662 and RFC 7009, which must not stand in the query. */
const SECRET_PARAMETERS = ['token', 'access_token', 'client_secret']

/**
 * Returns the field `token` of a form (RFC 7662, section 2.1, and RFC 7009, section 2.1); ignores unknown fields. Throws
 * `InvalidParameters` when it is missing or empty, when a field is repeated (RFC 6749, section 3.2), and when the query has
 * a token: URLs are logged.
 */
export function readFormToken(body: Uint8Array, target: string): string {
  const at = target.indexOf('?')
  if (at !== -1) refuseSecrets(new URLSearchParams(target.slice(at + 1)))
  const text = decodeForm(body)
  // The usual form has one field, and nothing to decode.
  const token = ONLY_TOKEN.exec(text)?.[1] ?? readFields(text).get('token') ?? ''
  if (token === '') throw new InvalidParameters('The form must have the parameter token.')
  return token
}

const ONLY_TOKEN = /^token=([\w.~-]+)$/

function refuseSecrets(query: URLSearchParams): void {
  if (SECRET_PARAMETERS.some((name) => query.has(name)))
    throw new InvalidParameters('A token must be sent in the form, never in the query.')
}

function readFields(text: string): URLSearchParams {
  const form = new URLSearchParams(text)
  const names = [...form.keys()]
  if (new Set(names).size < names.length) throw new InvalidParameters('A parameter of the form is repeated.')
  return form
}

function decodeForm(body: Uint8Array): string {
  try {
    return decodeUtf8(body)
  } catch {
    throw new InvalidParameters('The form must be UTF-8.')
  }
}
