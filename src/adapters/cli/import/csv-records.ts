import type { RefusedRow } from '../../../application/use-cases/import-customers.ts'
import { createCsvParser } from './csv-parser.ts'
import { MAX_ROW_BYTES, withoutByteOrderMark } from './utf8.ts'

/** A record of a CSV file with the line where it begins. Its fields are not decoded yet: a character is a byte. */
export interface CsvRecord {
  readonly line: number
  readonly fields: readonly string[]
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * Yields the records of a CSV file (RFC 4180; lines may end in CR LF, LF or CR), those of each chunk together: an asynchronous
 * step for each would take longer than its parsing. A misplaced quotation mark spoils only its own line: parsing continues at
 * the next line.
 */
export async function* csvRecords(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly (CsvRecord | RefusedRow)[], void, void> {
  let parser = createCsvParser()
  let line = 1
  /** The bytes from `line` on that are no whole record yet. */
  let rest: Uint8Array = Buffer.alloc(0)
  let isSpoilt = false

  for await (const chunk of withoutByteOrderMark(chunks)) {
    rest = Buffer.concat([rest, chunk])
    yield await read(chunk, false)
  }
  yield await read(Buffer.alloc(0), true)

  async function read(fresh: Uint8Array, isEnd: boolean): Promise<readonly (CsvRecord | RefusedRow)[]> {
    const found: (CsvRecord | RefusedRow)[] = []
    for (let unread = fresh; ; unread = rest) {
      if (!isSpoilt) {
        const { records, problem } = await parser.parse(unread, isEnd)
        for (const { fields, length } of records) {
          found.push({ line, fields })
          pass(length)
        }
        const refusal = problem ?? (rest.length > MAX_ROW_BYTES ? TOO_LONG : null)
        if (refusal === null) return found
        found.push({ line, problem: refusal })
        isSpoilt = true
      }
      const end = endOfLine(rest, isEnd)
      // A line break that the next chunk may complete is not counted yet.
      pass(end < 0 ? rest.length - (rest.at(-1) === CARRIAGE_RETURN ? 1 : 0) : end)
      if (end < 0) return found
      parser = createCsvParser()
      isSpoilt = false
    }
  }

  function pass(length: number): void {
    line += lineBreaks(rest.subarray(0, length))
    rest = rest.subarray(length)
  }
}

const TOO_LONG = `Is longer than ${MAX_ROW_BYTES} bytes, as when a quotation mark is not closed.`

/** Returns where the next line begins, or -1 if there is no complete line break. */
function endOfLine(bytes: Uint8Array, isEnd: boolean): number {
  const feed = bytes.indexOf(LINE_FEED)
  const before = feed < 0 ? bytes : bytes.subarray(0, feed)
  const carriageReturn = before.indexOf(CARRIAGE_RETURN)
  if (carriageReturn < 0 || carriageReturn + 1 === feed) return feed < 0 ? -1 : feed + 1
  return carriageReturn + 1 < bytes.length || isEnd ? carriageReturn + 1 : -1
}

function lineBreaks(bytes: Uint8Array): number {
  let count = 0
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === LINE_FEED || (bytes[at] === CARRIAGE_RETURN && bytes[at + 1] !== LINE_FEED)) count++
  }
  return count
}
