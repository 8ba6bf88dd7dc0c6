import * as v from 'valibot'

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
        // A pattern would never match.
        if (url === null || origin.includes('*')) return false
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

function isWeb(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:'
}

/** Parses a URL without white space and control characters; returns null for other text. */
export function parseUrl(text: string): URL | null {
  // The parser silently drops line breaks and outer spaces; other readers of the URL do not.
  if (/[\u0000-\u0020\u007f]/.test(text)) return null
  try {
    return new URL(text)
  } catch {
    return null
  }
}
