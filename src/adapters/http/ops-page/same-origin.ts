import { SameOriginRequired } from '../errors.ts'
import type { RequestContext } from '../request/request-context.ts'

/** A header that no form or link can send. Another origin needs a CORS preflight for it, which is refused (Fetch, 3.2). */
const OWN_HEADER = 'x-requested-with'
const OWN_VALUE = 'ops-page'

/**
 * Throws `SameOriginRequired` unless a page of this origin sent the request. Checks the page's own header, and the browser's
 * `Sec-Fetch-Site` header, or `Origin` without it. `publicUrl` is another address of this origin, or null.
 */
export function requireSameOrigin(headers: RequestContext['headers'], publicUrl: string | null): void {
  if (headers[OWN_HEADER] !== OWN_VALUE || !isSameOrigin(headers, publicUrl)) throw new SameOriginRequired()
}

function isSameOrigin(
  { 'sec-fetch-site': site, origin, host }: RequestContext['headers'],
  publicUrl: string | null,
): boolean {
  if (site !== undefined) return site === 'same-origin'
  if (typeof origin !== 'string' || !URL.canParse(origin)) return false
  const { host: from, origin: whole } = new URL(origin)
  return from === host || (publicUrl !== null && whole === new URL(publicUrl).origin)
}
