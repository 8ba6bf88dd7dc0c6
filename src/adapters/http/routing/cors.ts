import type { IncomingMessage } from 'node:http'

const PREFLIGHT = [
  'Access-Control-Allow-Methods',
  'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT',
  'Access-Control-Allow-Headers',
  'Authorization, Content-Type, X-Request-Id',
  'Access-Control-Max-Age',
  '600',
]

/** Returns the CORS headers of a response (Fetch, section 3.2). An origin that is not listed is not allowed. */
export type Cors = (request: IncomingMessage) => readonly string[]

/** Allows the origins to read responses, failures included. Returns null without origins: no response has a CORS header. */
export function createCors(origins: readonly string[]): Cors | null {
  if (origins.length === 0) return null
  const allowed = new Set(origins)
  return function cors({ method, headers }) {
    const { origin } = headers
    if (origin === undefined || !allowed.has(origin)) return ['Vary', 'Origin']
    const shared = ['Vary', 'Origin', 'Access-Control-Allow-Origin', origin]
    return method === 'OPTIONS'
      ? [...shared, ...PREFLIGHT]
      : [...shared, 'Access-Control-Expose-Headers', 'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id']
  }
}
