import { ValidationFailed } from '../../../domain/errors.ts'
import { InvalidJson } from '../errors.ts'
import { decodeUtf8 } from './utf8.ts'

/**
 * RFC 8259, section 9, lets a parser limit the nesting depth. A recursive function would overflow the stack on a body of a
 * few thousand levels, which takes a few kilobytes.
 */
const MAX_DEPTH = 100

/** Parses the bytes of a body. Throws `InvalidJson`, and `ValidationFailed` when it is nested too deeply. */
export function parseJson(bytes: Uint8Array): unknown {
  const value = decodeJson(bytes)
  // Each level takes two brackets.
  if (bytes.length > 2 * MAX_DEPTH && isDeeper(value, MAX_DEPTH))
    throw new ValidationFailed({ body: [`Must be nested no deeper than ${MAX_DEPTH} levels.`] }, [
      { field: 'body', code: 'max_depth', max: MAX_DEPTH },
    ])
  return value
}

function decodeJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decodeUtf8(bytes))
  } catch {
    throw new InvalidJson()
  }
}

/** Whether lists and objects are nested deeper than `levels`. Recurses no deeper than that. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1))
}
