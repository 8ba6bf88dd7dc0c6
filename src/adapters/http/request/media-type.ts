import { UnsupportedMediaType } from '../errors.ts'
import type { Exchange } from '../server/exchange.ts'

/** Throws `UnsupportedMediaType` unless the body is JSON in UTF-8 without a content coding. */
export function checkMediaType({ request }: Exchange): void {
  const { rawHeaders, headers } = request
  const lines = rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === 'content-type').length
  if (lines !== 1 || !isJsonInUtf8(headers['content-type'] ?? ''))
    throw new UnsupportedMediaType('media_type')
  const coding = headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') throw new UnsupportedMediaType('coding')
}

const PARAMETER =
  /[\t ]*;[\t ]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[^"\\]|\\.)*"))?/y

/** RFC 9110, section 8.3.1: `application/json`, case-insensitive, with at most one charset, which is utf-8. */
function isJsonInUtf8(contentType: string): boolean {
  const type = /^application\/json/i.exec(contentType)
  if (type === null) return false
  let at = type[0].length
  let charset: string | null = null
  while (at < contentType.length) {
    PARAMETER.lastIndex = at
    const found = PARAMETER.exec(contentType)
    if (found === null) return contentType.slice(at).trim() === ''
    at = PARAMETER.lastIndex
    if (found[1]?.toLowerCase() === 'charset') {
      if (charset !== null) return false
      charset = (found[2] as string).replace(/^"|"$/g, '').toLowerCase()
    }
  }
  return charset === null || charset === 'utf-8'
}
