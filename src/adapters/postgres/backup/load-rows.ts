import { createHash } from 'node:crypto'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Client, escapeIdentifier } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { TableReport } from '../../../application/ports/backup.ts'
import type { MigrationSet } from '../migration-set.ts'
import { type Catalog, type KnownTable, qualifiedName, readCatalog } from './catalog.ts'
import {
  type BackupHeader,
  BackupRefused,
  type BackupSection,
  decodeHeader,
  decodeSection,
} from './format.ts'
import { BackupReader } from './reader.ts'

/** A trigger that would change loaded rows, or act on them as if they were new. */
interface InsertTrigger {
  readonly table: string
  readonly name: string
  /** How it is enabled: on the origin (O), as a replica (R) or always (A). */
  readonly enabled: 'O' | 'R' | 'A'
}

const INSERT_TRIGGERS = `
  select tgrelid::regclass::text as table, quote_ident(tgname) as name, tgenabled as enabled from pg_trigger
   where tgrelid = any($1::oid[]) and not tgisinternal and tgenabled <> 'D' and tgtype & 4 = 4`

const ENABLE = { O: 'enable', R: 'enable replica', A: 'enable always' } as const

/** What is loaded. */
interface LoadedRows {
  readonly sets: readonly MigrationSet[]
  readonly bytes: AsyncIterable<Buffer>
  /** Names of Latchkey's tables that are empty afterwards, whatever the backup has. */
  readonly emptied: readonly string[]
}

/**
 * Loads the rows of a backup in place of those of the database, in one transaction. TRUNCATE publishes `forget`, so that
 * every instance clears its cache once this has committed; the channel of the instances gets a new secret name, because
 * readers of old backups and dumps may know the earlier one. Throws only when nothing has changed, or when the connection
 * was lost during the commit.
 */
export async function loadRows(client: Client, rows: LoadedRows): Promise<readonly TableReport[]> {
  const { catalog, loaded } = await loadAndCommit(client, rows)
  // Autovacuum does the same later, and a failure would look like one of the restore.
  await client.query(`analyze ${catalog.tables.map(({ sql }) => sql).join(', ')}`).catch(() => {})
  return loaded
}

async function loadAndCommit(
  client: Client,
  { sets, bytes, emptied }: LoadedRows,
): Promise<{ catalog: Catalog; loaded: readonly TableReport[] }> {
  const { PG_MIGRATE_LOCK_ID } = await import('node-pg-migrate')
  await client.query('begin isolation level read committed')
  try {
    // No migration runs meanwhile.
    await client.query(`select pg_advisory_xact_lock(${PG_MIGRATE_LOCK_ID})`)
    const catalog = await readCatalog(client, sets)
    await client.query(`truncate ${catalog.tables.map(({ from }) => from).join(', ')}`)
    await client.query('set constraints all deferred')
    const triggers: InsertTrigger[] = (
      await client.query(INSERT_TRIGGERS, [catalog.tables.map(({ oid }) => oid)])
    ).rows
    for (const { table, name } of triggers) await client.query(`alter table ${table} disable trigger ${name}`)
    const { header, loaded } = await loadSections(client, catalog, {
      reader: new BackupReader(bytes),
      emptied,
    })
    for (const { table, name, enabled } of triggers)
      await client.query(`alter table ${table} ${ENABLE[enabled]} trigger ${name}`)
    await restartSequences(client, catalog, header)
    await client.query('update latchkey_channel set name = default')
    await client.query('commit')
    return { catalog, loaded }
  } catch (error) {
    // The connection may be lost, which rolls back too.
    await client.query('rollback').catch(() => {})
    throw error
  }
}

/** Loads every section. Reading to the end verifies the checksum again. */
async function loadSections(
  client: Client,
  catalog: Catalog,
  { reader, emptied }: { readonly reader: BackupReader; readonly emptied: readonly string[] },
): Promise<{ header: BackupHeader; loaded: readonly TableReport[] }> {
  const header = decodeHeader((await reader.line()) ?? '', (await reader.line()) ?? '')
  const loaded: TableReport[] = []
  for (let line = await reader.line(); line !== null; line = await reader.line()) {
    const section = decodeSection(line)
    if (section === null) continue
    const table = catalog.tables.find(
      ({ schema, name }) => schema === section.schema && name === section.name,
    )
    if (table === undefined)
      throw new BackupRefused(`The database has no table ${qualifiedName(section)}, which the backup has.`)
    // The line `copy … from stdin`, which is for psql.
    await reader.line()
    const isEmptied = section.schema === null && emptied.includes(section.name)
    loaded.push(isEmptied ? await passOver(section, reader) : await loadTable(client, table, section, reader))
  }
  return { header, loaded }
}

/** Reads the rows of a table without loading them. */
async function passOver(section: BackupSection, reader: BackupReader): Promise<TableReport> {
  for await (const _ of reader.rows());
  return { table: qualifiedName(section), rows: 0, sha256: createHash('sha256').digest('hex') }
}

async function loadTable(
  client: Client,
  { sql }: KnownTable,
  section: BackupSection,
  reader: BackupReader,
): Promise<TableReport> {
  const columns = section.columns.map(escapeIdentifier).join(', ')
  const sum = createHash('sha256')
  const summing = new Transform({
    transform(chunk, _, done) {
      sum.update(chunk)
      done(null, chunk)
    },
  })
  const rows = client.query(copyFrom(`copy ${sql} (${columns}) from stdin`))
  await pipeline(Readable.from(reader.rows()), summing, rows)
  return { table: qualifiedName(section), rows: rows.rowCount ?? 0, sha256: sum.digest('hex') }
}

/** ALTER SEQUENCE can be rolled back, unlike setval (PostgreSQL, section 9.17). */
async function restartSequences(
  client: Client,
  catalog: Catalog,
  { sequences }: BackupHeader,
): Promise<void> {
  for (const { schema, name, next } of sequences) {
    const sequence = catalog.sequences.find((one) => one.schema === schema && one.name === name)
    if (sequence === undefined)
      throw new BackupRefused(`The database has no sequence ${name}, which the backup has.`)
    if (!/^-?\d+$/.test(next))
      throw new BackupRefused(`The backup has no next value of the sequence ${name}.`)
    await client.query(`alter sequence ${sequence.sql} restart with ${next}`)
  }
}
