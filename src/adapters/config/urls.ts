import * as v from 'valibot'

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** The address of a PostgreSQL server; its host may also stand in `?host=`, as for a socket's folder. */
export const databaseUrl = v.pipe(
  v.string(),
  v.check(
    (text) => namesServer(text),
    'Must be a postgres:// or postgresql:// address with a host; write special characters of the password as %XX.',
  ),
  v.check(
    (text) => {
      const mode = parsed(text)?.searchParams.get('sslmode') ?? null
      return mode === null || SSL_MODES.includes(mode)
    },
    `Has an unknown sslmode; it may be ${SSL_MODES.join(', ')}.`,
  ),
)

/** A base address that paths are put behind; answered without a slash at its end. */
export const publicUrl = v.pipe(
  v.string(),
  v.check((text) => {
    const url = parsed(text)
    return url !== null && isWeb(url) && url.username === '' && url.password === '' && !/[?#]/.test(text)
  }, 'Must be an http:// or https:// address without user, query and fragment.'),
  v.transform((text) => text.replace(/\/+$/, '')),
)

/** Comma-separated origins in the form in which browsers send them (RFC 6454, section 6.1). */
export const origins = v.pipe(
  v.string(),
  v.transform((text) => [...new Set(text.split(',').map((origin) => origin.trim()))]),
  v.check(
    (list) =>
      list.every((origin) => {
        const url = parsed(origin)
        return url !== null && isWeb(url) && url.origin === origin
      }),
    'Must be origins with commas between them, each as browsers send it: scheme, lower-case host, no path.',
  ),
)

function namesServer(text: string): boolean {
  const url = parsed(text)
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol)) return false
  const host = url.hostname === '' ? (url.searchParams.get('host') ?? '') : url.hostname
  return host !== '' && [url.username, url.password, url.pathname].every(isDecodable)
}

function isWeb(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:'
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function parsed(text: string): URL | null {
  // The parser drops line breaks and outer spaces without a word; other readers of the address do not.
  if (/[\u0000-\u0020\u007f]/.test(text)) return null
  try {
    return new URL(text)
  } catch {
    return null
  }
}
