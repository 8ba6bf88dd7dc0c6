import type { RefusedRow } from '../../../application/use-cases/import-customers.ts'
import { csvRecords } from '../import/csv-records.ts'
import type { Format } from '../import/import-file.ts'
import { ndjsonObjects, type ReadObject } from '../import/ndjson-rows.ts'
import { decodeBinary, NOT_UTF8 } from '../import/utf8.ts'
import { Refusal } from '../refusal.ts'

/** A row with its fields by column. The names of columns are in lower case without underscores. */
export interface TokenRecord {
  readonly line: number
  readonly fields: ReadonlyMap<string, unknown>
}

/** How null stands in CSV files: from MySQL as `\N`, from many tools as `NULL` or as nothing. */
const NULL_WORDS = ['', '\\N', 'NULL']

/**
 * Yields the rows of a file, those of each chunk of a CSV file together. Systems and databases write the columns as `user_id` or `userId`: both are `userid` here. Throws
 * `Refusal` when the first line of a CSV file does not name the required columns.
 */
export async function* tokenRecords(
  chunks: AsyncIterable<Uint8Array>,
  format: Format,
  required: readonly string[],
): AsyncGenerator<readonly (TokenRecord | RefusedRow)[], void, void> {
  if (format === 'ndjson') {
    for await (const row of ndjsonObjects(chunks)) yield ['problem' in row ? row : toRecord(row)]
    return
  }
  let header: readonly string[] | null = null
  for await (const records of csvRecords(chunks)) {
    const found: (TokenRecord | RefusedRow)[] = []
    for (const record of records) {
      if ('problem' in record) {
        if (header === null) throw withoutColumns(required)
        found.push(record)
      } else if (record.fields.length > 1 || record.fields[0]?.trim() !== '') {
        const texts = record.fields.map(decodeBinary)
        if (header === null) header = parseHeader(texts, required)
        else found.push(parseRecord(record.line, texts, header))
      }
    }
    yield found
  }
  if (header === null) throw withoutColumns(required)
}

function toRecord({ line, value }: ReadObject): TokenRecord {
  return { line, fields: new Map(Object.entries(value).map(([key, value]) => [toColumn(key), value])) }
}

function parseHeader(texts: readonly (string | null)[], required: readonly string[]): readonly string[] {
  const header = texts.map((text) => toColumn(text?.trim() ?? ''))
  if (required.some((column) => header.filter((name) => name === toColumn(column)).length !== 1))
    throw withoutColumns(required)
  return header
}

function parseRecord(
  line: number,
  texts: readonly (string | null)[],
  header: readonly string[],
): TokenRecord | RefusedRow {
  if (texts.length !== header.length)
    return { line, problem: `Has ${texts.length} fields, expected ${header.length}.` }
  const fields = new Map<string, unknown>()
  for (const [at, column] of header.entries()) {
    const text = texts[at] ?? null
    if (text === null) return { line, problem: NOT_UTF8 }
    fields.set(column, toValue(text))
  }
  return { line, fields }
}

function toColumn(name: string): string {
  return name.toLowerCase().replaceAll('_', '')
}

function toValue(text: string): string | null {
  return NULL_WORDS.includes(text) ? null : text
}

function withoutColumns(required: readonly string[]): Refusal {
  return new Refusal(
    `The first line must name the columns, separated by commas, among them ${required.join(', ')}.`,
  )
}
