import type { Position } from './order.ts'

/** The last moment of the year 9999, past which the texts of times have another form. */
const LAST_MS = 253_402_300_799_999

/**
 * A position in the list as a word that clients hand back and need not read: milliseconds in 8 bytes and the id in 16, in
 * base64url. It is no secret and grants nothing: the list is that of the caller, wherever it begins.
 */
export function cursorOf({ placedAtMs, id }: Position): string {
  const bytes = Buffer.alloc(24)
  bytes.writeBigUInt64BE(BigInt(placedAtMs))
  bytes.write(id.replaceAll('-', ''), 8, 'hex')
  return bytes.toString('base64url')
}

/** The position of a cursor, or null for a word that is none. */
export function positionOf(cursor: string): Position | null {
  if (!/^[A-Za-z0-9_-]{32}$/.test(cursor)) return null
  const bytes = Buffer.from(cursor, 'base64url')
  const placedAtMs = bytes.readBigUInt64BE()
  if (placedAtMs > LAST_MS) return null
  const id = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { placedAtMs: Number(placedAtMs), id }
}
