import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Client } from 'pg'
import { DatabaseRefused } from './connection/database-refused.ts'
import { LEDGER } from './connection/schema.ts'
import { readTarget, requireOwnTables } from './migration-target.ts'

/** A set of migrations in plain SQL. A program may have its own set besides that of Latchkey. */
export interface MigrationSet {
  /** The folder with the files `NNNN_name.sql`, which are applied in this order. */
  readonly folder: string
  /** The table that lists the applied migrations, in the schema of Latchkey's tables: a name that no other set has. */
  readonly table: string
  /** The name of the program that owns them, for messages to the operator. */
  readonly owner: string
}

/** The migrations for customers and login tokens. */
export const LATCHKEY_MIGRATIONS: MigrationSet = {
  folder: fileURLToPath(new URL('../../../sql', import.meta.url)),
  table: LEDGER,
  owner: 'Latchkey',
}

/** Lists the names of the applied migrations. */
export const APPLIED_MIGRATIONS = {
  name: 'applied_migrations',
  text: `select name from ${LEDGER} order by id`,
}

/** Returns the names of the migrations that this version contains, in order. */
export async function knownMigrations({ folder } = LATCHKEY_MIGRATIONS): Promise<readonly string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'))
  return files.map((file) => file.slice(0, -'.sql'.length)).sort()
}

/**
 * Returns the names of the migrations of the set that the database lacks, in order. Throws `DatabaseRefused` when its
 * schema is newer than the set.
 */
export async function findPending(client: Client, set: MigrationSet): Promise<readonly string[]> {
  const known = await knownMigrations(set)
  const target = await readTarget(client, set.table)
  const applied = await readApplied(client, target.ledger)
  if (set.table === LEDGER) await requireOwnTables(client, target, applied.length === 0)
  const unknown = applied.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw new DatabaseRefused(
      `The database's schema is newer than this version of ${set.owner}: it has ${unknown.join(', ')}.`,
    )
  }
  return known.filter((name) => !applied.includes(name))
}

/** Returns the names of the applied migrations; none without a ledger. */
export async function readApplied(client: Client, ledger: string | null): Promise<readonly string[]> {
  if (ledger === null) return []
  const { rows } = await client.query<{ name: string }>(`select name from ${ledger} order by id`)
  return rows.map(({ name }) => name)
}
