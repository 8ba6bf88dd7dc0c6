import { SameOriginRequired } from '../errors.ts'
import type { RequestContext } from '../request/context.ts'

/** A header that no form and no link can send, and no other origin without being asked, which it is refused (Fetch, 3.2). */
const OWN_HEADER = 'x-requested-with'
const OWN_VALUE = 'ops-page'

/**
 * Throws `SameOriginRequired` unless a page of this origin asks: by the header of the page, and by what the browser says of
 * it in `Sec-Fetch-Site`, or in `Origin` where that is not sent. `publicUrl` is another address of this origin, if any.
 */
export function requireSameOrigin(headers: RequestContext['headers'], publicUrl: string | null): void {
  if (headers[OWN_HEADER] !== OWN_VALUE || !comesFromHere(headers, publicUrl)) throw new SameOriginRequired()
}

function comesFromHere(
  { 'sec-fetch-site': site, origin, host }: RequestContext['headers'],
  publicUrl: string | null,
): boolean {
  if (site !== undefined) return site === 'same-origin'
  if (typeof origin !== 'string' || !URL.canParse(origin)) return false
  const { host: from, origin: whole } = new URL(origin)
  return from === host || (publicUrl !== null && whole === new URL(publicUrl).origin)
}
