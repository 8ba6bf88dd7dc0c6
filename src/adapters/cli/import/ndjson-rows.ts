import type { ReadRow, RefusedRow } from '../../../application/use-cases/import-customers.ts'
import { MAX_ROW_BYTES, NOT_UTF8, utf8, withoutByteOrderMark } from './utf8.ts'

const LINE_FEED = 0x0a

/** An object of a file and the number of its line. */
export interface ReadObject {
  readonly line: number
  readonly value: Readonly<Record<string, unknown>>
}

/** Yields the customers of a file with one JSON object a line. Blank lines are skipped. */
export async function* ndjsonRows(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadRow | RefusedRow> {
  for await (const row of ndjsonObjects(chunks)) yield 'problem' in row ? row : toRow(row)
}

/** Yields the objects of a file with one JSON object a line. Blank lines are skipped. */
export async function* ndjsonObjects(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<ReadObject | RefusedRow> {
  let line = 0
  for await (const bytes of splitLines(withoutByteOrderMark(chunks))) {
    line++
    if (bytes === null) yield { line, problem: `Is longer than ${MAX_ROW_BYTES} bytes.` }
    else if (!isBlank(bytes)) yield parseObject(line, utf8(bytes))
  }
}

/** Yields the lines of a file; null for a line that is too long. */
async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array | null> {
  let rest: Uint8Array = Buffer.alloc(0)
  let isTooLong = false
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk])
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      yield isTooLong || end > MAX_ROW_BYTES ? null : rest.subarray(0, end)
      isTooLong = false
      rest = rest.subarray(end + 1)
    }
    if (rest.length <= MAX_ROW_BYTES) continue
    isTooLong = true
    rest = Buffer.alloc(0)
  }
  if (isTooLong || rest.length > 0) yield isTooLong ? null : rest
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}

function parseObject(line: number, text: string | null): ReadObject | RefusedRow {
  if (text === null) return { line, problem: NOT_UTF8 }
  const value = parseJson(text)
  if (value === undefined) return { line, problem: 'Is not JSON.' }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { line, problem: 'Is not a JSON object.' }
  return { line, value: value as Record<string, unknown> }
}

function toRow({ line, value }: ReadObject): ReadRow | RefusedRow {
  const { email, password_hash: passwordHash, name = null } = value
  if (typeof email !== 'string') return { line, problem: 'email: Must be text.' }
  if (typeof passwordHash !== 'string') return { line, problem: 'password_hash: Must be text.' }
  if (typeof name !== 'string' && name !== null) return { line, problem: 'name: Must be text or null.' }
  return { line, email, passwordHash, name }
}

/** Returns the value, or undefined. The parser's own message would repeat the line. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
