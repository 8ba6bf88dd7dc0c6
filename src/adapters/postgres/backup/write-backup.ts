import { createHash, type Hash } from 'node:crypto'
import { type Client, escapeIdentifier } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { BackupOptions, BackupReport, TableReport } from '../../../application/ports/backup.ts'
import { DatabaseRefused } from '../connection/database-refused.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { LEDGER } from '../connection/schema.ts'
import type { MigrationSet } from '../migration-set.ts'
import { readTarget } from '../migration-target.ts'
import { readApplied } from '../pending-migrations.ts'
import { type Catalog, type KnownTable, qualifiedName, readCatalog, refuseOthers } from './catalog.ts'
import {
  type AppliedSet,
  type BackupHeader,
  END_OF_ROWS,
  encodeChecksum,
  encodeHeader,
  encodeSection,
} from './format.ts'

/** The limits of the role do not suit a long transaction. A policy of row security would silently leave out rows. */
const SESSION = `
  set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set row_security = off;
  set synchronize_seqscans = off; set datestyle = 'ISO'; set timezone = 'UTC'; set intervalstyle = 'postgres';
  set extra_float_digits = 1; set bytea_output = 'hex'; set client_encoding = 'UTF8'`

/**
 * Writes the rows of all tables that the migrations of the sets create, as one consistent snapshot. Throws
 * `DatabaseRefused` when the database has another table that `skip` does not name.
 */
export function writeBackup(
  url: string,
  sets: readonly MigrationSet[],
  { write, skip }: BackupOptions,
): Promise<BackupReport> {
  return withDirectClient(url, async (client) => {
    await client.query(SESSION)
    await lockTables(client, await readCatalog(client, sets))
    const catalog = await readCatalog(client, sets)
    refuseOthers(catalog, skip)
    const header = await readHeader(client, sets, catalog)
    const sum = createHash('sha256')
    const put = async (bytes: Uint8Array) => {
      sum.update(bytes)
      await write(bytes)
    }
    await put(Buffer.from(encodeHeader(header) + sqlBefore(catalog)))
    const tables: TableReport[] = []
    for (const table of catalog.tables) tables.push(await putTable(client, table, put))
    await put(Buffer.from(sqlAfter(catalog)))
    await write(Buffer.from(encodeChecksum(sum.digest('hex'))))
    await client.query('commit')
    return { tables, createdAt: header.createdAt }
  })
}

/** Begins the transaction. The snapshot begins after the locks: TRUNCATE is visible in earlier snapshots (section 13.6). */
async function lockTables(client: Client, { tables }: Catalog): Promise<void> {
  await client.query('begin isolation level repeatable read read only')
  if (tables.length > 0)
    await client.query(`lock table ${tables.map(({ sql }) => sql).join(', ')} in access share mode`)
}

async function readHeader(
  client: Client,
  sets: readonly MigrationSet[],
  { sequences }: Catalog,
): Promise<BackupHeader> {
  const applied: AppliedSet[] = []
  for (const { table, owner } of sets) {
    const { ledger } = await readTarget(client, table)
    applied.push({ table, owner, applied: await readApplied(client, ledger) })
  }
  if (applied.find(({ table }) => table === LEDGER)?.applied.length === 0)
    throw new DatabaseRefused('The database has no schema of Latchkey yet: there is nothing to back up.')
  const { rows } = await client.query(`
    select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at,
           current_setting('server_version_num')::int / 10000 as postgres`)
  return {
    createdAt: rows[0].at,
    postgres: rows[0].postgres,
    sets: applied,
    sequences: sequences.map(({ schema, name, next }) => ({ schema, name, next })),
  }
}

async function putTable(
  client: Client,
  table: KnownTable,
  put: (bytes: Uint8Array) => Promise<void>,
): Promise<TableReport> {
  const { schema, name, columns } = table
  const list = columns.map(escapeIdentifier).join(', ')
  await put(Buffer.from(encodeSection({ schema, name, columns })))
  await put(Buffer.from(`copy ${sqlName(table)} (${list}) from stdin;\n`))
  const sum: Hash = createHash('sha256')
  const rows = client.query(copyTo(`copy (select ${list} from ${table.from}) to stdout`))
  for await (const bytes of rows) {
    sum.update(bytes)
    await put(bytes)
  }
  await put(Buffer.from(END_OF_ROWS))
  return { table: qualifiedName(table), rows: rows.rowCount ?? 0, sha256: sum.digest('hex') }
}

/** What psql needs to load the rows in an emergency; `restore` reads only the comments. */
function sqlBefore({ tables }: Catalog): string {
  return `set client_encoding = 'UTF8';\nbegin;\ntruncate ${tables.map(sqlName).join(', ')};\n`
}

function sqlAfter({ sequences }: Catalog): string {
  const restarts = sequences.map(
    (sequence) => `alter sequence ${sqlName(sequence)} restart with ${sequence.next};\n`,
  )
  return `${restarts.join('')}commit;\n`
}

function sqlName({ schema, name }: { readonly schema: string | null; readonly name: string }): string {
  return (schema === null ? [name] : [schema, name]).map(escapeIdentifier).join('.')
}
