import { hash } from 'node:crypto'
import { type ForeignForm, type ForeignToken, TOKEN_SCHEME } from '../../domain/foreign-token.ts'
import type { Digest } from '../../domain/login-token.ts'

/** The longest text that is taken for a token. */
const MAX_LENGTH = 512

/** Reads a presented text in the one form; null when it has another. */
const PARSERS: Readonly<Record<ForeignForm, (presented: string) => ForeignToken | null>> = {
  /** Laravel Sanctum: `<id>|<secret>`. */
  sanctum(presented) {
    const [, externalId, secret] = /^([0-9A-Za-z-]{1,64})\|([!-{}~]+)$/.exec(presented) ?? []
    if (externalId === undefined || secret === undefined) return null
    return { form: 'sanctum', externalId, digest: hash('sha256', secret, 'hex') }
  },
  /** AdonisJS: `oat_<base64url id>.<base64url secret>`, of which the digest covers the decoded secret. */
  adonis(presented) {
    const [, id, secret] = /^oat_([\w-]+)\.([\w-]+)$/.exec(presented) ?? []
    const externalId = decodeStrictly(id)
    const decoded = decodeStrictly(secret)
    if (externalId === null || decoded === null) return null
    return { form: 'adonis', externalId, digest: hash('sha256', decoded, 'hex') }
  },
  /** Django REST framework: 40 hexadecimal digits with the scheme `Token`. */
  drf(presented) {
    if (!presented.startsWith(TOKEN_SCHEME)) return null
    const key = presented.slice(TOKEN_SCHEME.length)
    return /^[0-9a-f]{40}$/.test(key)
      ? { form: 'drf', externalId: null, digest: hash('sha256', key, 'hex') }
      : null
  },
  /** better-auth: any text of RFC 6750's b64token. */
  'better-auth'(presented) {
    if (!/^[\w.~+/-]+=*$/.test(presented)) return null
    return { form: 'better-auth', externalId: null, digest: hash('sha256', presented, 'hex') }
  },
}

/** Returns a function that computes the stored digest of a presented token in one of the forms; null for any other text. */
export function foreignSecrets(forms: readonly ForeignForm[]): (presented: string) => Digest | null {
  return (presented) => {
    if (presented.length > MAX_LENGTH) return null
    for (const form of forms) {
      const token = PARSERS[form](presented)
      if (token !== null) return foreignDigest(token)
    }
    return null
  }
}

/**
 * Returns the digest under which a foreign token is stored. It covers the form and the ID too, so that a lookup in the same index as for
 * any other token finds it only in this form and with this ID. The zero byte keeps it apart from the digests of own tokens.
 */
export function foreignDigest({ form, externalId, digest }: ForeignToken): Digest {
  return hash('sha256', `${form}\0${externalId ?? ''}\0${digest}`, 'hex')
}

/** Only one text stands for a value: other characters in the last, partly used one would be another presentation of it. */
function decodeStrictly(text: string | undefined): string | null {
  if (text === undefined) return null
  const bytes = Buffer.from(text, 'base64url')
  const decoded = bytes.toString('utf8')
  return bytes.toString('base64url') === text && Buffer.from(decoded).equals(bytes) ? decoded : null
}
