const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The problem of a row that cannot be decoded. */
export const NOT_UTF8 = 'Is not UTF-8 text.'

/** The maximum length of a row: a longer one is no customer, and would fill the memory. */
export const MAX_ROW_BYTES = 65_536

/** Returns the bytes as text, or null if they are not UTF-8. */
export function utf8(bytes: Uint8Array): string | null {
  try {
    return strict.decode(bytes)
  } catch {
    return null
  }
}

const NOT_ASCII = /[\x80-\xff]/

/** As `utf8`, of bytes that stand as one character each. */
export function decodeBinary(binary: string): string | null {
  // Most fields, without the cost of a decoder.
  return NOT_ASCII.test(binary) ? utf8(Buffer.from(binary, 'latin1')) : binary
}

/** Yields the bytes of a file without a leading byte-order mark. */
export async function* withoutByteOrderMark(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let start: Uint8Array | null = Buffer.alloc(0)
  for await (const chunk of chunks) {
    if (start === null) {
      yield chunk
      continue
    }
    start = Buffer.concat([start, chunk])
    if (start.length < MARK.length) continue
    yield MARK.equals(start.subarray(0, MARK.length)) ? start.subarray(MARK.length) : start
    start = null
  }
  if (start !== null) yield start
}

const MARK = Buffer.from('\ufeff')
