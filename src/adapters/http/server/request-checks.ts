import type { IncomingMessage } from 'node:http'
import { ExpectationFailed, HeadersTooLarge, type HttpError, InvalidRequest } from '../errors.ts'
import type { RequestHead } from '../request/request-head.ts'

const MAX_HEADER_LINES = 100

/** uri-host [ ":" port ] of RFC 9110, section 7.2: a registered name, an IPv4 address or a bracketed literal. */
const HOST = /^(\[[0-9A-Fa-fv:.]+\]|([A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(:\d{0,5})?$/

/** Checks what RFC 9112 requires and node's parser does not. Returns the failure, or null. */
export function checkRequest(
  { rawHeaders, httpVersion, url = '' }: IncomingMessage,
  head: RequestHead,
): HttpError | null {
  if (rawHeaders.length > MAX_HEADER_LINES * 2) return new HeadersTooLarge()
  // Node's parser accepts HTTP/0.9 and 2.0, too.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return malformed()
  if (url.includes('#')) return malformed()
  const { hosts, host, transferEncoding, expect } = head
  // Of two lines, node uses the first; a proxy in front of it may use the second.
  if (head.authorizations > 1) return malformed()
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return malformed()
  if (host !== '' && !HOST.test(host)) return malformed()
  if (transferEncoding !== undefined) {
    if (httpVersion === '1.0' || transferEncoding.toLowerCase() !== 'chunked') return malformed()
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') return new ExpectationFailed()
  return null
}

/** Returns the failure for an error code of node's parser. */
export function parserFailure(code: string | undefined): HttpError {
  if (code === 'HPE_HEADER_OVERFLOW') return new HeadersTooLarge()
  return malformed()
}

function malformed(): InvalidRequest {
  return new InvalidRequest({ closes: true })
}
