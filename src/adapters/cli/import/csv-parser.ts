import { CsvError, parse } from 'csv-parse'

/** The records of the bytes that were parsed last, each with its length in bytes. */
export interface ParsedCsv {
  readonly records: readonly { readonly fields: readonly string[]; readonly length: number }[]
  /** Why parsing stopped after these records, or null. */
  readonly problem: string | null
}

/** Parses CSV in parts. After a problem, another parser must continue. */
export interface CsvParser {
  parse(bytes: Uint8Array, isEnd: boolean): Promise<ParsedCsv>
}

/** Creates a parser at the beginning of a line. It decodes no field: a character is a byte. */
export function createCsvParser(): CsvParser {
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
