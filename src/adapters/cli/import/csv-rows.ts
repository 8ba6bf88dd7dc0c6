import type { ReadRow, RefusedRow } from '../../../application/use-cases/import-customers.ts'
import { Refusal } from '../refusal.ts'
import { csvRecords } from './csv-records.ts'
import { decodeBinary, NOT_UTF8 } from './utf8.ts'

const COLUMNS = ['email', 'password_hash', 'name'] as const

/** How null stands in CSV files: from MySQL as `\N`, from many tools as `NULL`. */
const NULL_WORDS = ['\\N', 'NULL']

/**
 * Yields the customers of a CSV file whose first line names its columns, in any order. Blank lines are skipped. Unknown
 * columns are passed to `onIgnored`. Throws `Refusal` when the first line does not name the required columns.
 */
export async function* csvRows(
  chunks: AsyncIterable<Uint8Array>,
  onIgnored: (columns: readonly string[]) => unknown,
): AsyncGenerator<ReadRow | RefusedRow, void, void> {
  let header: readonly string[] | null = null
  for await (const records of csvRecords(chunks))
    for (const record of records) {
      if ('problem' in record) {
        if (header === null) throw noHeader()
        yield record
        continue
      }
      const { line, fields } = record
      if (isBlank(fields)) continue
      if (header === null) {
        header = parseHeader(fields)
        const ignored = header.filter((name) => name !== '' && !COLUMNS.some((column) => column === name))
        if (ignored.length > 0) await onIgnored(ignored)
      } else yield parseRow(line, fields, header)
    }
  if (header === null) throw noHeader()
}

function parseHeader(fields: readonly string[]): readonly string[] {
  const header = fields.map((field) => decodeBinary(field)?.trim().toLowerCase() ?? '')
  const count = (column: string) => header.filter((name) => name === column).length
  if (count('email') !== 1 || count('password_hash') !== 1 || count('name') > 1) throw noHeader()
  return header
}

function parseRow(line: number, fields: readonly string[], header: readonly string[]): ReadRow | RefusedRow {
  if (fields.length !== header.length)
    return { line, problem: `Has ${counted(fields.length)}, expected ${header.length}.` }
  const [email, passwordHash, name] = COLUMNS.map((column) =>
    decodeBinary(fields[header.indexOf(column)] ?? ''),
  )
  if (typeof email !== 'string' || typeof passwordHash !== 'string' || typeof name !== 'string')
    return { line, problem: NOT_UTF8 }
  return { line, email, passwordHash, name: NULL_WORDS.includes(name.trim()) ? null : name }
}

// The line may hold a customer's data, so the message does not repeat it.
function noHeader(): Refusal {
  return new Refusal(
    'The first line must name the columns, separated by commas: email, password_hash and, where there are names, name.',
  )
}

function isBlank(fields: readonly string[]): boolean {
  return fields.length === 1 && fields[0]?.trim() === ''
}

function counted(fields: number): string {
  return fields === 1 ? '1 field' : `${fields} fields`
}
