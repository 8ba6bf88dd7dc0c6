import type { Client } from 'pg'
import type { BackupReport, RestoreOptions } from '../../../application/ports/backup.ts'
import { DatabaseRefused } from '../connection/database-refused.ts'
import { failureReason, withDirectClient } from '../connection/direct-client.ts'
import { sqlState } from '../connection/sql-state.ts'
import { knownMigrations, type MigrationSet } from '../migration-set.ts'
import { readTarget, requireOwner } from '../migration-target.ts'
import { migrate } from '../migrations.ts'
import { readApplied } from '../pending-migrations.ts'
import { type Catalog, readCatalog } from './catalog.ts'
import { type BackupHeader, BackupRefused, decodeHeader, verifiedBytes } from './format.ts'
import { loadRows } from './load-rows.ts'

const SESSION =
  "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = '10s'; set client_encoding = 'UTF8'"

const HEADER_LINES = 2

/** A link that was used or replaced after the backup must not work again, and customers can request another one. */
const SINGLE_USE = ['one_time_tokens']

/** How a backup is loaded. */
interface LoadOptions extends RestoreOptions {
  /** Loads one-time tokens too: right only for a copy of rows that nothing has changed since. */
  readonly keepsOneTimeTokens?: boolean
}

/**
 * Replaces the rows of all tables that the migrations of the sets create by those of a backup, in one transaction; one-time
 * tokens are deleted unless they are kept. An older schema is first brought to the state of the backup. Throws
 * `DatabaseRefused` before any change when the file is damaged or does not fit, and leaves all rows unchanged when the
 * transaction fails.
 */
export async function loadBackup(
  url: string,
  sets: readonly MigrationSet[],
  { read, confirm, keepsOneTimeTokens = false }: LoadOptions,
): Promise<BackupReport> {
  const header = await verifyBackup(read)
  await requireKnown(header, sets)
  const isFilled = await withDirectClient(url, async (client) => {
    await requireNotNewer(client, header, sets)
    return hasRows(client, await readCatalog(client, sets))
  })
  if (isFilled) await confirm()
  for (const set of sets) await migrate({ url, set, upTo: appliedIn(header, set).length })
  const tables = await withDirectClient(url, async (client) => {
    await client.query(SESSION)
    for (const { table } of sets) requireOwner(await readTarget(client, table))
    const emptied = keepsOneTimeTokens ? [] : SINGLE_USE
    return explainFailures(() => loadRows(client, { sets, bytes: verifiedBytes(read()), emptied }))
  })
  return { tables, createdAt: header.createdAt }
}

/** Reads the whole file and returns its header. Throws `BackupRefused` unless the checksum matches. */
async function verifyBackup(read: RestoreOptions['read']): Promise<BackupHeader> {
  let head: Buffer = Buffer.alloc(0)
  let lines = 0
  for await (const bytes of verifiedBytes(read())) {
    if (lines >= HEADER_LINES) continue
    head = Buffer.concat([head, bytes])
    lines = head.toString('latin1').split('\n', HEADER_LINES + 1).length - 1
  }
  const [title = '', header = ''] = head.toString('utf8').split('\n', HEADER_LINES)
  return decodeHeader(title, header)
}

function appliedIn({ sets }: BackupHeader, { table }: MigrationSet): readonly string[] {
  return sets.find((set) => set.table === table)?.applied ?? []
}

/** Throws unless the backup has only migrations that the program knows, without a gap. */
async function requireKnown(header: BackupHeader, sets: readonly MigrationSet[]): Promise<void> {
  for (const { table, owner, applied } of header.sets) {
    const set = sets.find((one) => one.table === table)
    if (set === undefined && applied.length > 0)
      throw new BackupRefused(
        `The backup has tables of ${owner}, which this program does not have. Restore it with the program that made it.`,
      )
    const known = set === undefined ? [] : await knownMigrations(set)
    const unknown = applied.filter((name, at) => known[at] !== name)
    if (unknown.length > 0)
      throw new BackupRefused(
        `The backup is of a newer version of ${owner}: it has ${unknown.join(', ')}. Restore it with that version.`,
      )
  }
}

/** Throws when the schema has a migration that the backup lacks: rows cannot be loaded into a schema of a later version. */
async function requireNotNewer(
  client: Client,
  header: BackupHeader,
  sets: readonly MigrationSet[],
): Promise<void> {
  for (const set of sets) {
    const applied = await readApplied(client, (await readTarget(client, set.table)).ledger)
    const known = await knownMigrations(set)
    const missing = applied.filter((name) => known.includes(name) && !appliedIn(header, set).includes(name))
    if (missing.length > 0)
      throw new BackupRefused(
        `The schema of the database is newer than the backup, which lacks ${missing.join(', ')} of ${set.owner}. Restore it into a new database or another DATA_DIR: its schema is then brought to this version.`,
      )
  }
}

/** Whether any table that a restore replaces has a row, except the secret that each new schema has. */
async function hasRows(client: Client, { tables }: Catalog): Promise<boolean> {
  const counted = tables.filter(({ name, schema }) => schema !== null || name !== 'login_attempts_secret')
  if (counted.length === 0) return false
  const { rows } = await client.query(
    `select ${counted.map(({ sql }) => `exists (select from ${sql})`).join(' or ')} as filled`,
  )
  return rows[0].filled
}

/** Throws an error of the server as one line for the operator: the transaction was rolled back. */
async function explainFailures<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (sqlState(error) === null) throw error
    const { table } = error as { readonly table?: string }
    const where = table === undefined ? '' : ` (table ${table})`
    throw new DatabaseRefused(
      `The backup could not be loaded: ${failureReason(error)}${where}. The database is unchanged.`,
      { cause: error },
    )
  }
}
