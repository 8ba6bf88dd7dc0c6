import type { Position } from './order.ts'

/** The last millisecond of the year 9999. Later times have a different ISO format. */
const LAST_MS = 253_402_300_799_999

/**
 * Encodes a position in the list as an opaque cursor: the milliseconds in 8 bytes and the ID in 16, in base64url. It is not
 * a secret and grants no access: the list contains only orders of the caller.
 */
export function encodeCursor({ placedAtMs, id }: Position): string {
  const bytes = Buffer.alloc(24)
  bytes.writeBigUInt64BE(BigInt(placedAtMs))
  bytes.write(id.replaceAll('-', ''), 8, 'hex')
  return bytes.toString('base64url')
}

/** Decodes a cursor. Returns null when it is invalid. */
export function decodeCursor(cursor: string): Position | null {
  if (!/^[A-Za-z0-9_-]{32}$/.test(cursor)) return null
  const bytes = Buffer.from(cursor, 'base64url')
  const placedAtMs = bytes.readBigUInt64BE()
  if (placedAtMs > LAST_MS) return null
  const id = bytes.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { placedAtMs: Number(placedAtMs), id }
}
