/**
 * The header fields that the server reads from every request, from one pass over the raw ones: node builds its `headers` of
 * all fields at the first access. Several lines of one field are joined as in `headers`. A request may have one `Host`, one
 * `Authorization` and one `Content-Type` only, so their lines are counted.
 */
export class RequestHead {
  hosts = 0
  host = ''
  authorizations = 0
  authorization: string | undefined = undefined
  contentTypes = 0
  contentType = ''
  contentEncoding: string | undefined = undefined
  contentLength: string | undefined = undefined
  transferEncoding: string | undefined = undefined
  expect: string | undefined = undefined
  requestId: string | undefined = undefined
  hasUpgrade = false
  hasForwardedFor = false

  /** `rawHeaders` has names and values in turn. */
  constructor(rawHeaders: readonly string[]) {
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const value = rawHeaders[i + 1] as string
      switch ((rawHeaders[i] as string).toLowerCase()) {
        case 'host':
          this.hosts++
          this.host = value
          break
        case 'authorization':
          this.authorizations++
          this.authorization = value
          break
        case 'content-type':
          this.contentTypes++
          this.contentType = value
          break
        case 'content-encoding':
          this.contentEncoding = join(this.contentEncoding, value)
          break
        case 'content-length':
          this.contentLength = value
          break
        case 'transfer-encoding':
          this.transferEncoding = join(this.transferEncoding, value)
          break
        case 'expect':
          this.expect = join(this.expect, value)
          break
        case 'x-request-id':
          this.requestId = join(this.requestId, value)
          break
        case 'upgrade':
          this.hasUpgrade = true
          break
        case 'x-forwarded-for':
          this.hasForwardedFor = true
      }
    }
  }

  /** The body size in bytes: 0 without a body, null when the length is not declared. */
  get declaredBytes(): number | null {
    if (this.transferEncoding !== undefined) return null
    return this.contentLength === undefined ? 0 : Number(this.contentLength)
  }
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}
