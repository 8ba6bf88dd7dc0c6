import { UnsupportedMediaType } from '../errors.ts'
import type { Exchange } from '../server/exchange.ts'
import type { RequestHead } from './request-head.ts'

const JSON_TYPE = ['application/json']

/** Throws `UnsupportedMediaType` unless the body is JSON in UTF-8 without a content coding. */
export function checkJsonType({ head }: Exchange): void {
  if (head.contentTypes !== 1 || !isJsonInUtf8(head.contentType)) throw new UnsupportedMediaType(JSON_TYPE)
  checkCoding(head)
}

/**
 * Throws `UnsupportedMediaType` unless the body has one of the media types, in lower case, of which `image/*` stands for
 * each image, and no content coding. Null accepts every type, and a body without one.
 */
export function checkMediaType({ head }: Exchange, accepts: readonly string[] | null): void {
  if (accepts !== null && !(head.contentTypes === 1 && isAccepted(head.contentType, accepts)))
    throw new UnsupportedMediaType(accepts)
  checkCoding(head)
}

function isAccepted(contentType: string, accepts: readonly string[]): boolean {
  // The usual case needs no copies.
  if (accepts.includes(contentType)) return true
  const [first = ''] = contentType.toLowerCase().split(';', 1)
  const type = first.trim()
  return accepts.includes(type) || accepts.includes(type.replace(/\/.*$/s, '/*'))
}

function checkCoding({ contentEncoding: coding }: RequestHead): void {
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
