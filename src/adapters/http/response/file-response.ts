import { createHash } from 'node:crypto'
import type { Exchange } from '../server/exchange.ts'
import { finish, NO_SNIFFING, writeHead } from './response.ts'

/** A success outside `/api` whose body is bytes of any media type instead of the envelope. Clients cache it by its ETag. */
export class FileResponse {
  readonly bytes: Uint8Array
  readonly contentType: string
  /** Additional headers of this file. */
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

/** Sends the file, or 304 when the client's cached copy is current (RFC 9110, section 13.1.2). */
export function sendFile(exchange: Exchange, { bytes, contentType, headers, etag }: FileResponse): void {
  if (exchange.responded) return
  const { requestId, request } = exchange
  // Clients must revalidate: a file changes with the service, but its URL does not.
  const common = [
    ...NO_SNIFFING,
    'Cache-Control',
    'no-cache',
    'ETag',
    etag,
    'X-Request-Id',
    requestId,
    ...headers,
  ]
  if (matchesEtag(request.headers['if-none-match'], etag)) {
    writeHead(exchange, 304, common)
    finish(exchange, null)
    return
  }
  writeHead(exchange, 200, [
    'Content-Type',
    contentType,
    'Content-Length',
    String(bytes.byteLength),
    ...common,
  ])
  finish(exchange, bytes)
}

/** Whether `If-None-Match` has the tag, by weak comparison (RFC 9110, section 13.1.2). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return ifNoneMatch.split(',').some((tag) => ['*', opaque(etag)].includes(opaque(tag)))
}
