import { createHash } from 'node:crypto'
import { DatabaseRefused } from '../connection/database-refused.ts'

/**
 * A backup is SQL that psql can run: comments with the facts that `restore` needs, and the rows as COPY in text format
 * (PostgreSQL, SQL command COPY). Its last line is the SHA-256 of all bytes before it.
 */
const BACKUP_FORMAT = 1
const TITLE = '-- Latchkey backup '
const CHECKSUM = '-- sha256 '
const CHECKSUM_LINE = new RegExp(`^${CHECKSUM}([0-9a-f]{64})\n$`)
const CHECKSUM_BYTES = CHECKSUM.length + 65
const SECTION = '-- table '

/** The end of the rows of one table. */
export const END_OF_ROWS = '\\.\n'

/** The first lines of a backup. */
export interface BackupHeader {
  /** The time of the snapshot, in ISO 8601. */
  readonly createdAt: string
  /** The major version of the PostgreSQL server. */
  readonly postgres: number
  /** The applied migrations of each set. */
  readonly sets: readonly AppliedSet[]
  /** The next value of each sequence. */
  readonly sequences: readonly SequenceState[]
}

/** The applied migrations of a set, in order. */
export interface AppliedSet {
  readonly table: string
  readonly owner: string
  readonly applied: readonly string[]
}

/** A table or sequence. The schema is null for that of Latchkey's tables, which may have another name elsewhere. */
export interface RelationName {
  readonly schema: string | null
  readonly name: string
}

/** A sequence and its next value as decimal digits. */
export interface SequenceState extends RelationName {
  readonly next: string
}

/** A table and the columns of its rows. */
export interface BackupSection extends RelationName {
  readonly columns: readonly string[]
}

/** The file is no backup, or is damaged. */
export class BackupRefused extends DatabaseRefused {
  override readonly name = 'BackupRefused'
}

/** Returns the first lines of a backup. */
export function encodeHeader(header: BackupHeader): string {
  return `${TITLE}${BACKUP_FORMAT}\n-- ${JSON.stringify(header)}\n`
}

/** Returns the header in the first two lines. Throws `BackupRefused` for a format of another version. */
export function decodeHeader(title: string, header: string): BackupHeader {
  if (title !== `${TITLE}${BACKUP_FORMAT}`)
    throw new BackupRefused(
      `The file is a backup of the format ${title.slice(TITLE.length)}, but this version reads the format ${BACKUP_FORMAT}. Restore it with the version that reads it.`,
    )
  return JSON.parse(header.slice(3))
}

/** Returns the line before the rows of a table. */
export function encodeSection(section: BackupSection): string {
  return `${SECTION}${JSON.stringify(section)}\n`
}

/** Returns the table that the line introduces, or null for any other line. */
export function decodeSection(line: string): BackupSection | null {
  return line.startsWith(SECTION) ? JSON.parse(line.slice(SECTION.length)) : null
}

/** Returns the last line of a backup. */
export function encodeChecksum(sha256: string): string {
  return `${CHECKSUM}${sha256}\n`
}

/** Yields the bytes of a backup before its checksum. Throws `BackupRefused` at the end when the checksum differs. */
export async function* verifiedBytes(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const sum = createHash('sha256')
  let isFirst = true
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    if (rest.length <= CHECKSUM_BYTES) continue
    if (isFirst && rest.toString('latin1', 0, TITLE.length) !== TITLE) throw notABackup()
    isFirst = false
    const body = rest.subarray(0, -CHECKSUM_BYTES)
    sum.update(body)
    yield body
    rest = rest.subarray(-CHECKSUM_BYTES)
  }
  if (isFirst) throw notABackup()
  if (CHECKSUM_LINE.exec(rest.toString('latin1'))?.[1] !== sum.digest('hex'))
    throw new BackupRefused(
      'The file is damaged or incomplete: its checksum does not match its content. Nothing was changed. Use another backup.',
    )
}

function notABackup(): BackupRefused {
  return new BackupRefused('The file is not a backup of Latchkey, or its beginning is damaged.')
}
