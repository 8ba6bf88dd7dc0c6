import { Readable } from 'node:stream'
import type { ResponseFields } from './json-body.ts'
import { headerList, type ResponseHeaders } from './response-headers.ts'

/** A body that is sent unchanged: text in UTF-8, bytes, or a stream of bytes. */
export type ResponseContent = string | Uint8Array | Readable

/** A success with its own status, headers and body. `respond` creates it. */
export class CustomResponse<
  Status extends number = number,
  Body extends ResponseContent | ResponseFields | null = ResponseContent | ResponseFields | null,
> {
  readonly status: Status
  readonly body: Body
  /** Names and values in turn, `Content-Type` and `Cache-Control` excepted. */
  readonly headers: readonly string[]
  /** The value of `Content-Type`; null without a body, and for fields, which are JSON. */
  readonly type: string | null
  readonly cacheControl: string

  constructor(status: Status, body: Body, type: string | null, headers: ResponseHeaders) {
    if (!Number.isInteger(status) || status < 200 || status > 399)
      throw new TypeError(`respond takes a status from 200 to 399, not ${status}: throw an error to refuse.`)
    if (body !== null && hasNoBody(status)) throw new TypeError(`A response of status ${status} has no body.`)
    if (type !== null && body !== null && !isContent(body))
      throw new TypeError('Fields are sent as JSON: type is for text, bytes and streams.')
    const own = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
    const rest = Object.entries(headers).filter(([name]) => !/^(content-type|cache-control)$/i.test(name))
    this.status = status
    this.body = body
    this.headers = headerList(Object.fromEntries(rest), body instanceof Readable ? 'content-length' : null)
    this.type = isContent(body) ? String(own.get('content-type') ?? type ?? defaultType(body)) : null
    this.cacheControl = String(own.get('cache-control') ?? 'no-store')
    headerList({ 'Content-Type': this.type ?? '', 'Cache-Control': this.cacheControl })
  }

  /** The value of the header `ETag`, or null. */
  get etag(): string | null {
    const at = this.headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'etag')
    return at === -1 ? null : (this.headers[at + 1] ?? null)
  }
}

/** Whether the body is sent unchanged. */
export function isContent(body: unknown): body is ResponseContent {
  return typeof body === 'string' || body instanceof Uint8Array || body instanceof Readable
}

/** RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5. */
function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

function defaultType(body: ResponseContent): string {
  return typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/octet-stream'
}

/**
 * Responds with any status from 200 to 399, own headers, and text, bytes, a `Readable` or the fields of a JSON success.
 * `status` is 200 by default. `type` is the `Content-Type`: by default plain text in UTF-8 for text, otherwise
 * `application/octet-stream`. The service sets the headers of its contract itself, `Cache-Control: no-store` only by
 * default. A GET whose `If-None-Match` has the `ETag` of the response gets 304 (RFC 9110, section 13.1.2). A stream may
 * have a `Content-Length`. Throws a `TypeError` for another status, a reserved header, or a body where none is allowed.
 */
export function respond<
  const Status extends number = 200,
  const Body extends ResponseContent | ResponseFields | null = null,
>({
  status = 200 as Status,
  headers = {},
  body = null as Body,
  type,
}: {
  readonly status?: Status
  readonly headers?: ResponseHeaders
  readonly body?: Body
  readonly type?: string
}): CustomResponse<Status, Body> {
  try {
    return new CustomResponse(status, body, type ?? null, headers)
  } catch (error) {
    if (body instanceof Readable) discard(body)
    throw error
  }
}

/** Destroys a stream whose bytes are not needed. Its errors have no receiver any more. */
export function discard(body: Readable): void {
  body.on('error', () => {}).destroy()
}
