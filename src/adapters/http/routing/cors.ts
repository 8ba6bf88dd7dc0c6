import type { IncomingMessage } from 'node:http'

/** The request headers that the service reads itself, tracing included (W3C Trace Context and Baggage). */
const HEADERS = ['Authorization', 'Content-Type', 'X-Request-Id', 'traceparent', 'tracestate', 'baggage']

/** Returns the CORS headers of a response (Fetch, section 3.2). An origin that is not listed is not allowed. */
export type Cors = (request: IncomingMessage) => readonly string[]

/**
 * Allows the origins to read responses, failures included, and to send `headers` besides those that the service reads.
 * Returns null without origins: no response has a CORS header.
 */
export function createCors(origins: readonly string[], headers: readonly string[] = []): Cors | null {
  if (origins.length === 0) return null
  const preflight = [
    'Access-Control-Allow-Methods',
    'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT',
    'Access-Control-Allow-Headers',
    [...HEADERS, ...headers].join(', '),
    'Access-Control-Max-Age',
    '600',
  ]
  const allowed = new Set(origins)
  return function cors({ method, headers }) {
    const { origin } = headers
    if (origin === undefined || !allowed.has(origin)) return ['Vary', 'Origin']
    const shared = ['Vary', 'Origin', 'Access-Control-Allow-Origin', origin]
    return method === 'OPTIONS'
      ? [...shared, ...preflight]
      : [...shared, 'Access-Control-Expose-Headers', 'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id']
  }
}
