import { Readable } from 'node:stream'
import type { MaybePromise } from '../../../lib/maybe-promise.ts'
import type { Exchange } from '../server/exchange.ts'
import { type CustomResponse, discard, isContent } from './custom-response.ts'
import { matchesEtag } from './file-response.ts'
import { JsonBody, type ResponseFields } from './json-body.ts'
import { CONTENT_TYPE, finish, NO_SNIFFING, writeHead } from './response.ts'
import { type StreamedBody, sendStream } from './send-stream.ts'

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
  if (body instanceof Readable) return sendReadable(exchange, response, body, authenticate)
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
  finish(exchange, content)
}

async function sendReadable(
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
  let next: IteratorResult<string | Uint8Array>
  const streamed: StreamedBody = {
    async begin() {
      if (request.method !== 'HEAD') next = await chunks.next()
    },
    writeHead() {
      // A stream that is shorter or longer than its `Content-Length` is an error.
      out.strictContentLength = true
      const { status, type } = response
      writeHead(exchange, status, ['Content-Type', String(type), ...commonHeaders(exchange, response)])
    },
    async produce(write) {
      for (; !next.done; next = await chunks.next()) await write(next.value)
      signal.throwIfAborted()
    },
    close() {
      signal.removeEventListener('abort', stop)
      discard(body)
    },
  }
  await sendStream(exchange, streamed, authenticate)
}

function sendHead(
  exchange: Exchange,
  response: CustomResponse,
  status: number,
  length: readonly string[],
): void {
  writeHead(exchange, status, [...length, ...commonHeaders(exchange, response)])
  finish(exchange, null)
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
