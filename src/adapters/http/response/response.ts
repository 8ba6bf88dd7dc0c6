import { type LatchkeyError, MalformedToken } from '../../../domain/errors.ts'
import type { HttpError } from '../errors.ts'
import type { Exchange } from '../server/exchange.ts'
import { linger } from '../server/linger.ts'
import { toFailureResponse } from './failure-response.ts'
import { JsonBody, type ResponseFields } from './json-body.ts'
import { toOAuthFailure } from './oauth-failure.ts'
import { sendWhole } from './whole-response.ts'

type HeaderList = readonly string[]

const NO_HEADERS: HeaderList = []
export const CONTENT_TYPE: HeaderList = ['Content-Type', 'application/json; charset=utf-8']
export const NO_SNIFFING: HeaderList = ['X-Content-Type-Options', 'nosniff']
export const COMMON: HeaderList = [...NO_SNIFFING, 'Cache-Control', 'no-store']

/** Sends a success: `success: true` and the route's fields, or only headers for 204. */
export function sendSuccess(
  exchange: Exchange,
  status: number,
  fields: ResponseFields | JsonBody | undefined,
  headers: HeaderList = NO_HEADERS,
): void {
  if (status === 204) send(exchange, status, null, 0, headers)
  else {
    const { text, bytes } = fields instanceof JsonBody ? fields : new JsonBody(fields)
    send(exchange, status, text, bytes, headers)
  }
}

/** Sends a failure in the envelope, with the headers of its reason. */
export function sendFailure(exchange: Exchange, error: LatchkeyError): void {
  if ((error as HttpError).closes === true) exchange.closes = true
  if (error instanceof MalformedToken) exchange.malformedToken = true
  const { status, headers, text } = exchange.isOAuth
    ? toOAuthFailure(error, exchange.head.authorization)
    : toFailureResponse(error, exchange.requestId)
  send(exchange, status, text, Buffer.byteLength(text), headers)
}

function send(
  exchange: Exchange,
  status: number,
  text: string | null,
  bytes: number,
  headers: HeaderList,
): void {
  if (exchange.responded) return
  if (text !== null && sendWhole(exchange, status, { text, bytes }, headers)) {
    noteResponse(exchange, status)
    return
  }
  const list =
    text === null
      ? [...COMMON, 'X-Request-Id', exchange.requestId]
      : [...CONTENT_TYPE, 'Content-Length', String(bytes), ...COMMON, 'X-Request-Id', exchange.requestId]
  writeHead(exchange, status, list, headers)
  finish(exchange, text)
}

/** Writes status and headers, and reports them to the access log. `list` has the common headers; it is modified. */
export function writeHead(
  exchange: Exchange,
  status: number,
  list: string[],
  headers: HeaderList = NO_HEADERS,
): void {
  if (mustClose(exchange)) exchange.closes = true
  if (exchange.headers.length > 0) list.push(...exchange.headers)
  if (headers.length > 0) list.push(...headers)
  const { request, response, settings } = exchange
  if (exchange.closes) list.push('Connection', 'close')
  else if (response.shouldKeepAlive && request.httpVersion === '1.1')
    list.push('Keep-Alive', settings.heads.keepAlive)
  response.writeHead(status, list)
  // Only now: if node rejects a header, another response can still be sent.
  noteResponse(exchange, status)
}

function noteResponse(exchange: Exchange, status: number): void {
  exchange.responded = true
  if (status >= 400 || exchange.accessLog.everyResponse) exchange.accessLog.responded(exchange, status)
}

/** Whether the rest of the body cannot be skipped, so that no request can follow it. */
function mustClose(exchange: Exchange): boolean {
  if (exchange.isWhole) return false
  const { declaredBytes, awaitsContinue, bodyLimitBytes } = exchange
  return awaitsContinue || declaredBytes === null || declaredBytes > bodyLimitBytes
}

/**
 * Ends a response whose head is written. If the connection closes while the client is still sending, the end is delayed
 * until the client has finished, within limits: closing a socket with unread bytes resets it, and the client may lose the
 * response (lingering close, RFC 9112, section 9.6).
 */
export function finish(exchange: Exchange, text: string | Uint8Array | null): void {
  const { request, response, closes, bodyFailure } = exchange
  if (!exchange.isWhole && closes && !request.destroyed && bodyFailure === null) {
    linger(exchange, text)
    return
  }
  if (text === null) response.end()
  else response.end(text)
  if (!exchange.isWhole) request.resume()
}
