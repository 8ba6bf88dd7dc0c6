import type { NamedSecret } from '../../../application/use-cases/verify-service-token.ts'
import { MalformedToken, MissingToken } from '../../../domain/errors.ts'
import { TOKEN_SCHEME } from '../../../domain/foreign-token.ts'

/**
 * Returns the text after `Bearer` (RFC 6750, section 2.1). Throws `MissingToken` without bearer credentials, and
 * `MalformedToken` when the token is empty (section 3.1). With `hasTokenScheme`, the scheme `Token` of Django REST framework is
 * accepted too: its text is returned after `TOKEN_SCHEME`.
 */
export function bearerToken(authorization: string | undefined, hasTokenScheme = false): string {
  const parts = authorization === undefined ? null : /^bearer(?: +(.*))?$/i.exec(authorization)
  if (parts === null) return tokenOfTokenScheme(hasTokenScheme ? authorization : undefined)
  const token = parts[1]
  if (token === undefined || token === '') throw new MalformedToken()
  return token
}

function tokenOfTokenScheme(authorization = ''): string {
  const [, token] = /^token +(.+)$/i.exec(authorization) ?? []
  if (token === undefined) throw new MissingToken()
  return TOKEN_SCHEME + token
}

/**
 * Returns the token that another program presents in a form, as `bearerToken` returns it. A form has no scheme, so the program sends
 * `Token` as part of the text.
 */
export function formToken(text: string, hasTokenScheme: boolean): string {
  const [, key] = (hasTokenScheme ? /^token +(.+)$/i.exec(text) : null) ?? []
  // Only the scheme may stand before a zero byte. With a space, a token is malformed in every form.
  return key === undefined ? text.replaceAll('\0', ' ') : TOKEN_SCHEME + key
}

/** Returns name and secret of `Basic` (RFC 7617), each also form-encoded (RFC 6749, section 2.3.1); null without them. */
export function basicCredentials(authorization: string | undefined): NamedSecret | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? '') ?? []
  const [, name, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? []
  return name === undefined || secret === undefined ? null : { name: decode(name), secret: decode(secret) }
}

/** Neither names nor secrets contain `%`, so it is an encoding. */
function decode(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)))
}

/** Returns null without a bearer token: a service route has one response for all these cases. */
export function serviceToken(authorization: string | undefined, hasTokenScheme = false): string | null {
  try {
    return bearerToken(authorization, hasTokenScheme)
  } catch {
    return null
  }
}
