import { accessSync, constants } from 'node:fs'
import * as v from 'valibot'

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** A comma in the host of the address, or in `?host=` unless it is the folder of a socket. */
const SEVERAL_HOSTS = /^[^/]*\/\/(?:[^/?]*@)?[^/?@]*,[^/?@]*(?:[/?]|$)|[?&]host=(?!\/|%2f)[^&]*(?:,|%2c)/i

/**
 * The URL of a PostgreSQL server. Its host may also be given in `?host=`, as for a socket's folder. Ambiguous URLs are
 * rejected: a part of the password could be parsed as another component, and the other components are shown.
 */
export const databaseUrl = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const message = dataset.typed ? databaseUrlProblem(dataset.value) : null
    if (message !== null) addIssue({ message })
  }),
)

/** A base URL for paths; the result has no trailing slash. */
export const publicUrl = v.pipe(
  v.string(),
  v.check((text) => {
    const url = parseUrl(text)
    return url !== null && isWeb(url) && !/[?#@]/.test(text)
  }, 'Must be an http:// or https:// address without user, query and fragment.'),
  v.transform((text) => text.replace(/\/+$/, '')),
)

/**
 * Comma-separated origins, serialized as browsers send them (RFC 6454, section 6.1). Apps in a web view and browser
 * extensions have schemes of their own, such as `capacitor://localhost`.
 */
export const origins = v.pipe(
  v.string(),
  v.transform((text): readonly string[] => [...new Set(text.split(',').map((origin) => origin.trim()))]),
  v.check(
    (list) =>
      list.every((origin) => {
        const url = parseUrl(origin)
        if (url === null) return false
        return isWeb(url) ? url.origin === origin : CUSTOM_ORIGIN.test(origin)
      }),
    'Must be origins with commas between them, each as browsers send it: scheme, lower-case host, no path.',
  ),
)

/** The schemes of files and of documents without an address have no origin. */
const CUSTOM_ORIGIN =
  /^(?!file:|data:|blob:|about:|javascript:|wss?:|ftp:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+(?::\d{1,5})?$/

/** Comma-separated names of request headers (RFC 9110, section 5.1). */
export const headerNames = v.pipe(
  v.string(),
  v.transform((text): readonly string[] => [...new Set(text.split(',').map((name) => name.trim()))]),
  v.check(
    (list) => list.every((name) => /^[\w!#$%&'+.^`|~-]+$/.test(name)),
    'Must be names of request headers with commas between them.',
  ),
)

function databaseUrlProblem(text: string): string | null {
  return urlProblem(text) ?? certificateProblem(new URL(text))
}

function urlProblem(text: string): string | null {
  // The authority ends at the first of these, a fragment is ignored, and `:` separates user and password.
  if (/#|^[^/]*\/\/[^/?]*[/?].*@/s.test(text))
    return 'Has a /, ?, # or @ that must be percent-encoded; write special characters of the password as %XX.'
  if (SEVERAL_HOSTS.test(text)) return 'Names several hosts; give one host only.'
  const url = parseUrl(text)
  if (url === null || !namesServer(text, url))
    return 'Must be a postgres:// or postgresql:// address with a host; write special characters of the password as %XX.'
  const names = [...url.searchParams.keys()]
  if (new Set(names).size < names.length) return 'Has a parameter twice.'
  const mode = url.searchParams.get('sslmode')
  if (mode !== null && !SSL_MODES.includes(mode))
    return `Has an unknown sslmode; it may be ${SSL_MODES.join(', ')}.`
  const port = url.searchParams.get('port')
  if (port !== null && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65535))
    return 'Has a port that is not a whole number from 1 to 65535.'
  return null
}

function certificateProblem({ searchParams }: URL): string | null {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = searchParams.get(name)
    if (path === null || (name === 'sslrootcert' && path === 'system')) continue
    try {
      accessSync(path, constants.R_OK)
    } catch {
      return `Has a parameter ${name} with a file that does not exist or cannot be read.`
    }
  }
  return null
}

function namesServer(text: string, url: URL): boolean {
  if (!/^postgres(?:ql)?:\/\//i.test(text)) return false
  const host = url.hostname === '' ? (url.searchParams.get('host') ?? '') : url.hostname
  return (
    host !== '' &&
    !/%3a/i.test(url.username + url.hostname) &&
    [url.username, url.password, url.hostname, url.pathname, url.search].every(isDecodable)
  )
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

function parseUrl(text: string): URL | null {
  // The parser silently drops line breaks and outer spaces; other readers of the URL do not.
  if (/[\u0000-\u0020\u007f]/.test(text)) return null
  try {
    return new URL(text)
  } catch {
    return null
  }
}
