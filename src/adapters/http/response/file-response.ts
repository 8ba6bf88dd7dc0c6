import { createHash } from 'node:crypto'
import type { Exchange } from '../server/exchange.ts'
import { finish } from '../server/finish.ts'
import { COMMON, writeHead } from './response.ts'

/** A success that is no envelope but bytes of a type of their own, outside `/api`; kept by clients under its tag. */
export class FileResponse {
  readonly bytes: Uint8Array
  readonly contentType: string
  /** Headers that this file has beside those of every file. */
  readonly headers: readonly string[]
  /** RFC 9110, section 8.8.3. */
  readonly etag: string

  constructor(bytes: Uint8Array, contentType: string, headers: readonly string[] = []) {
    this.bytes = bytes
    this.contentType = contentType
    this.headers = headers
    this.etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  }
}

/** Answers the file, or 304 where the client says that it has it (RFC 9110, section 13.1.2). */
export function sendFile(exchange: Exchange, { bytes, contentType, headers, etag }: FileResponse): void {
  if (exchange.responded) return
  const { requestId, request } = exchange
  // Asked for again each time: a file changes with the service, and its address does not.
  const kept = [
    ...NO_SNIFFING,
    'Cache-Control',
    'no-cache',
    'ETag',
    etag,
    'X-Request-Id',
    requestId,
    ...headers,
  ]
  if (isKept(request.headers['if-none-match'], etag)) {
    writeHead(exchange, 304, kept)
    finish(exchange, null, 'utf8')
    return
  }
  writeHead(exchange, 200, ['Content-Type', contentType, 'Content-Length', String(bytes.byteLength), ...kept])
  finish(exchange, bytes, 'utf8')
}

const NO_SNIFFING = COMMON.slice(0, 2)

function isKept(asked: string | undefined, etag: string): boolean {
  if (asked === undefined) return false
  return asked.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')))
}
