import { MalformedToken, MissingToken } from '../../../domain/errors.ts'

/**
 * Returns the text after `Bearer` (RFC 6750, section 2.1). Throws `MissingToken` without bearer credentials, and
 * `MalformedToken` when the token is empty (section 3.1).
 */
export function bearerToken(authorization: string | undefined): string {
  const parts = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +(.*))?$/.exec(authorization ?? '')
  if (parts?.[1]?.toLowerCase() !== 'bearer') throw new MissingToken()
  const token = parts[2]
  if (token === undefined || token === '') throw new MalformedToken()
  return token
}

/** Returns null without a bearer token: a service route has one response for all these cases. */
export function serviceToken(authorization: string | undefined): string | null {
  try {
    return bearerToken(authorization)
  } catch {
    return null
  }
}
