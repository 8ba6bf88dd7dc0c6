import type { IncomingMessage } from 'node:http'
import { UnsupportedMediaType } from '../errors.ts'
import type { Exchange } from '../server/exchange.ts'

const JSON_TYPE = ['application/json']

/** Throws `UnsupportedMediaType` unless the body is JSON in UTF-8 without a content coding. */
export function checkJsonType({ request }: Exchange): void {
  if (!hasOneType(request) || !isJsonInUtf8(request.headers['content-type'] ?? ''))
    throw new UnsupportedMediaType(JSON_TYPE)
  checkCoding(request)
}

/**
 * Throws `UnsupportedMediaType` unless the body has one of the media types, in lower case, of which `image/*` stands for
 * each image, and no content coding. Null accepts every type, and a body without one.
 */
export function checkMediaType({ request }: Exchange, accepts: readonly string[] | null): void {
  if (accepts !== null) {
    const [first = ''] = (request.headers['content-type'] ?? '').toLowerCase().split(';', 1)
    const type = first.trim()
    const range = type.replace(/\/.*$/s, '/*')
    if (!hasOneType(request) || !(accepts.includes(type) || accepts.includes(range)))
      throw new UnsupportedMediaType(accepts)
  }
  checkCoding(request)
}

function hasOneType({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === 'content-type').length === 1
}

function checkCoding({ headers }: IncomingMessage): void {
  const coding = headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') throw new UnsupportedMediaType(null)
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
