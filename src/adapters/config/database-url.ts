import { accessSync, constants } from 'node:fs'
import * as v from 'valibot'
import { parseUrl } from './urls.ts'

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** A comma in the host of the address, or in `?host=` unless it is the folder of a socket. */
const SEVERAL_HOSTS =
  /^[^/]*\/\/(?:[^/?]*@)?(?!%2f)[^/?@]*(?:,|%2c)[^/?@]*(?:[/?]|$)|[?&]host=(?!\/|%2f)[^&]*(?:,|%2c)/i

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

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
