import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { Exchange } from '../server/exchange.ts'
import { type CustomResponse, discard, isContent } from './custom-response.ts'
import { matchesEtag } from './file-response.ts'
import { JsonBody, type ResponseFields } from './json-body.ts'
import { CONTENT_TYPE, finish, NO_SNIFFING, writeHead } from './response.ts'

/** The age at which the client is authenticated again before the next bytes of a stream. */
const MAX_AUTHENTICATION_AGE_MS = 100

/** Sends a response of `respond`. `fields` are those of a JSON body, as the route declares them. */
export function sendCustom(
  exchange: Exchange,
  response: CustomResponse,
  fields: ResponseFields | undefined,
  authenticate: () => MaybePromise<unknown>,
): MaybePromise<void> {
  const { status, body, type } = response
  if (exchange.responded || isCurrent(exchange, response)) {
    if (body instanceof Readable) discard(body)
    if (!exchange.responded) sendHead(exchange, response, 304, [])
    return
  }
  if (body instanceof Readable) return sendStream(exchange, response, body, authenticate)
  if (body === null)
    return sendHead(exchange, response, status, hasLength(status) ? ['Content-Length', '0'] : [])
  const content = isContent(body) ? body : new JsonBody(fields).text
  const head = type === null ? CONTENT_TYPE : ['Content-Type', type]
  const bytes = Buffer.byteLength(content)
  writeHead(exchange, status, [
    ...head,
    'Content-Length',
    String(bytes),
    ...commonHeaders(exchange, response),
  ])
  finish(exchange, content, 'utf8')
}

async function sendStream(
  exchange: Exchange,
  response: CustomResponse,
  body: Readable,
  authenticate: () => MaybePromise<unknown>,
): Promise<void> {
  const { signal, request, response: out } = exchange
  const stop = () => discard(body)
  // A stream may fail before its first bytes are requested.
  body.on('error', () => {})
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const chunks = body[Symbol.asyncIterator]()
  let authenticatedMs = exchange.beganMs
  try {
    // A failure before the first bytes gets a response like any other failure.
    let next = request.method === 'HEAD' ? null : await chunks.next()
    await reauthenticate()
    if (exchange.responded) return
    // A stream that is shorter or longer than its `Content-Length` is an error.
    out.strictContentLength = true
    const { status, type } = response
    writeHead(exchange, status, ['Content-Type', String(type), ...commonHeaders(exchange, response)])
    if (!exchange.isWhole) request.resume()
    exchange.streams = true
    for (; next !== null && !next.done; next = await chunks.next()) {
      signal.throwIfAborted()
      await reauthenticate()
      if (!out.write(next.value)) await once(out, 'drain', { signal })
    }
    signal.throwIfAborted()
    exchange.streams = false
    out.end()
    if (!exchange.isWhole) request.resume()
  } catch (error) {
    // An incomplete body must not look complete.
    if (exchange.responded) exchange.breakOff()
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', stop)
    discard(body)
  }

  async function reauthenticate(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - authenticatedMs < MAX_AUTHENTICATION_AGE_MS) return
    await authenticate()
    authenticatedMs = nowMs
  }
}

function sendHead(
  exchange: Exchange,
  response: CustomResponse,
  status: number,
  length: readonly string[],
): void {
  writeHead(exchange, status, [...length, ...commonHeaders(exchange, response)])
  finish(exchange, null, 'utf8')
}

function commonHeaders(
  { requestId }: Exchange,
  { cacheControl, headers }: CustomResponse,
): readonly string[] {
  return [...NO_SNIFFING, 'Cache-Control', cacheControl, 'X-Request-Id', requestId, ...headers]
}

function isCurrent({ request }: Exchange, { status, etag }: CustomResponse): boolean {
  if (status !== 200 || etag === null) return false
  const { method, headers } = request
  return (method === 'GET' || method === 'HEAD') && matchesEtag(headers['if-none-match'], etag)
}

function hasLength(status: number): boolean {
  return status !== 204 && status !== 304
}
