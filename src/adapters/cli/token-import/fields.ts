import type { TokenRecord } from './records.ts'

/** A field has a value that it cannot have; the message is a sentence that repeats no value. */
export class WrongField extends Error {
  override readonly name = 'WrongField'
}

/** Returns a field as text, or null when it is null or left out. Throws `WrongField` for a list, an object or a number that was rounded. */
export function optionalText({ fields }: TokenRecord, column: string): string | null {
  const value = fields.get(column) ?? null
  if (value === null || typeof value === 'string') return value
  // An ID would be that of another token.
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new WrongField(`${column}: Is a number above 2^53, which is not read exactly. Write it as text.`)
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value)
  throw new WrongField(`${column}: Must be text.`)
}

/** Returns a field as text. Throws `WrongField` when it has none. */
export function requiredText(record: TokenRecord, column: string): string {
  const value = optionalText(record, column)
  if (value === null) throw new WrongField(`${column}: Must not be empty.`)
  return value
}

/** Returns a SHA-256 in hexadecimal digits. Throws `WrongField` for anything else. */
export function hexDigest(record: TokenRecord, column: string): string {
  const value = requiredText(record, column).toLowerCase()
  if (/^[0-9a-f]{64}$/.test(value)) return value
  if (/^[0-9a-f]{128}$/.test(value))
    throw new WrongField(`${column}: Is a SHA-512, as of knox, not a SHA-256.`)
  throw new WrongField(`${column}: Is not a SHA-256 in 64 hexadecimal digits.`)
}

/** Returns whether a field is true in the spellings of SQL and JSON; `otherwise` when it is null. */
export function flag(record: TokenRecord, column: string, otherwise: boolean): boolean {
  const value = optionalText(record, column)?.toLowerCase() ?? null
  if (value === null) return otherwise
  if (['true', 't', '1', 'yes'].includes(value)) return true
  if (['false', 'f', '0', 'no'].includes(value)) return false
  throw new WrongField(`${column}: Must be true or false.`)
}

/** Later numbers are milliseconds, earlier ones seconds since the Unix epoch. */
const FIRST_MILLISECONDS = 100_000_000_000
const TIME = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}(?::?\d{2})?)?$/

/** Returns a time in milliseconds since the Unix epoch, or null. A time without a zone is of UTC. */
export function time(record: TokenRecord, column: string): number | null {
  const value = optionalText(record, column)
  if (value === null) return null
  if (/^\d{9,14}$/.test(value))
    return Number(value) < FIRST_MILLISECONDS ? Number(value) * 1000 : Number(value)
  const [isTime, date = '', clock, fraction = '', zone = 'Z'] = TIME.exec(value) ?? []
  const offset = zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`
  // Date.parse also reads text that is no time.
  const atMs =
    isTime !== undefined && isDate(date)
      ? Date.parse(`${date}T${clock}.${fraction.slice(0, 3).padEnd(3, '0')}${offset}`)
      : Number.NaN
  if (Number.isNaN(atMs)) throw new WrongField(`${column}: Is not a time such as 2030-01-31 12:00:00.`)
  return atMs
}

/** Date.parse takes a 30th of February for a 2nd of March. */
function isDate(date: string): boolean {
  const atMs = Date.parse(date)
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(date)
}

/** Returns a list of words, which may stand as JSON text. Throws `WrongField` for anything else. */
export function words({ fields }: TokenRecord, column: string): readonly string[] {
  const value = jsonValue(fields.get(column) ?? null, column)
  if (Array.isArray(value) && value.every((word) => typeof word === 'string')) return value
  throw new WrongField(`${column}: Must be a JSON list of texts.`)
}

/** Returns the value of JSON text, or a value that is no text unchanged. */
export function jsonValue(value: unknown, column: string): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    throw new WrongField(`${column}: Is not JSON.`)
  }
}
