import { MalformedToken, MissingToken } from '../../../domain/errors.ts'

/** The text after `Bearer` (RFC 6750, section 2.1); throws what RFC 6750, section 3.1, has for none or a bad one. */
export function bearerToken(authorization: string | undefined): string {
  const parts = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +(.*))?$/.exec(authorization ?? '')
  if (parts?.[1]?.toLowerCase() !== 'bearer') throw new MissingToken()
  const token = parts[2]
  if (token === undefined || token === '') throw new MalformedToken()
  return token
}

/** Null for whatever is no bearer token: a service route has one answer for all of them. */
export function serviceToken(authorization: string | undefined): string | null {
  try {
    return bearerToken(authorization)
  } catch {
    return null
  }
}
