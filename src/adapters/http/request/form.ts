import { InvalidParameters } from '../errors.ts'

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
  const query = new URLSearchParams(at === -1 ? '' : target.slice(at + 1))
  if (SECRET_PARAMETERS.some((name) => query.has(name)))
    throw new InvalidParameters('A token must be sent in the form, never in the query.')
  const form = new URLSearchParams(decodeForm(body))
  const names = [...form.keys()]
  if (new Set(names).size < names.length) throw new InvalidParameters('A parameter of the form is repeated.')
  const token = form.get('token') ?? ''
  if (token === '') throw new InvalidParameters('The form must have the parameter token.')
  return token
}

function decodeForm(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new InvalidParameters('The form must be UTF-8.')
  }
}
