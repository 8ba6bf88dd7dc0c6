import { CsvError, parse } from 'csv-parse'
import type { RefusedRow } from '../../../application/use-cases/import-customers.ts'
import { MAX_ROW_BYTES, withoutByteOrderMark } from './utf8.ts'

/** A record of a CSV file with the line where it begins. Its fields are not decoded yet: a character is a byte. */
export interface CsvRecord {
  readonly line: number
  readonly fields: readonly string[]
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * Yields the records of a CSV file (RFC 4180; lines may end in CR LF, LF or CR). A misplaced quotation mark spoils only
 * its own line: parsing continues at the next line.
 */
export async function* csvRecords(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<CsvRecord | RefusedRow, void, void> {
  let parser = makeParser()
  let line = 1
  /** The bytes from `line` on that are no whole record yet. */
  let rest: Uint8Array = Buffer.alloc(0)
  let isSpoilt = false

  for await (const chunk of withoutByteOrderMark(chunks)) {
    rest = Buffer.concat([rest, chunk])
    yield* read(chunk, false)
  }
  yield* read(Buffer.alloc(0), true)

  async function* read(
    fresh: Uint8Array,
    isEnd: boolean,
  ): AsyncGenerator<CsvRecord | RefusedRow, void, void> {
    for (let unread = fresh; ; unread = rest) {
      if (!isSpoilt) {
        const { records, problem } = await parser.parse(unread, isEnd)
        for (const { fields, length } of records) {
          yield { line, fields }
          pass(length)
        }
        const refusal = problem ?? (rest.length > MAX_ROW_BYTES ? TOO_LONG : null)
        if (refusal === null) return
        yield { line, problem: refusal }
        isSpoilt = true
      }
      const end = endOfLine(rest, isEnd)
      // A line break that the next chunk may complete is not counted yet.
      pass(end < 0 ? rest.length - (rest.at(-1) === CARRIAGE_RETURN ? 1 : 0) : end)
      if (end < 0) return
      parser = makeParser()
      isSpoilt = false
    }
  }

  function pass(length: number): void {
    line += lineBreaks(rest.subarray(0, length))
    rest = rest.subarray(length)
  }
}

const TOO_LONG = `Is longer than ${MAX_ROW_BYTES} bytes, as when a quotation mark is not closed.`

interface Parsed {
  readonly records: readonly { readonly fields: readonly string[]; readonly length: number }[]
  /** Why parsing stopped after these records, or null. */
  readonly problem: string | null
}

function makeParser(): { parse(bytes: Uint8Array, isEnd: boolean): Promise<Parsed> } {
  let records: { fields: readonly string[]; length: number }[] = []
  let passedBytes = 0
  const parser = parse({
    encoding: 'latin1',
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    on_record(fields, { bytes }) {
      records.push({ fields, length: bytes - passedBytes })
      passedBytes = bytes
      return null
    },
  })
  // The call that caused an error reports it too.
  parser.on('error', () => {})

  return {
    async parse(bytes, isEnd) {
      const error = await new Promise<Error | null>((resolve) => {
        const done = (failure?: Error | null) => resolve(failure ?? null)
        if (isEnd) parser.end(bytes, done)
        else parser.write(bytes, done)
      })
      if (error !== null && !(error instanceof CsvError)) throw error
      const found = records
      records = []
      return { records: found, problem: error === null ? null : describeProblem(error) }
    },
  }
}

// The parser's own message would repeat the field.
function describeProblem({ code }: CsvError): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'Has a quotation mark that is not closed.'
  return 'Has a quotation mark that neither opens nor closes a field.'
}

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
