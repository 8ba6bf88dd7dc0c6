import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Client } from 'pg'
import { DatabaseRefused } from './connection/database-refused.ts'
import { withDirectClient } from './connection/direct-client.ts'
import { isTransactionPooler } from './connection/transaction-pooler.ts'

/** Migrations in plain SQL that belong together: a program may have some of its own beside those of Latchkey. */
export interface MigrationSet {
  /** The folder of `NNNN_name.sql`, which are applied in this order. */
  readonly folder: string
  /** The table of the schema `public` that remembers which are applied: a plain name, which no other set has. */
  readonly table: string
  /** Whose they are, for a sentence to the operator. */
  readonly owner: string
}

/** Those that customers and login tokens need. */
export const LATCHKEY_MIGRATIONS: MigrationSet = {
  folder: fileURLToPath(new URL('../../../sql', import.meta.url)),
  table: 'latchkey_migrations',
  owner: 'Latchkey',
}

/** Lists the names of the migrations in the schema that are applied. */
export const APPLIED_MIGRATIONS = {
  name: 'applied_migrations',
  text: `select name from public.${LATCHKEY_MIGRATIONS.table} order by id`,
}

/** The names of the migrations that this version of the code knows, in order. */
export async function knownMigrations({ folder } = LATCHKEY_MIGRATIONS): Promise<readonly string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'))
  return files.map((file) => file.slice(0, -'.sql'.length)).sort()
}

/** Which migrations, on which database. */
interface MigrationsOptions {
  readonly url: string
  /** Those of Latchkey where it is not given. */
  readonly set?: MigrationSet
}

/**
 * The names of the migrations that `migrate` would apply, in order; throws `DatabaseRefused` when the schema is newer
 * than the code.
 */
export function pendingMigrations({
  url,
  set = LATCHKEY_MIGRATIONS,
}: MigrationsOptions): Promise<readonly string[]> {
  return withDirectClient(url, (client) => pendingOn(client, set))
}

/**
 * Applies what is pending, each migration once however many processes do this at the same time, and answers the
 * names. Throws `DatabaseRefused` behind a transaction pooler: the lock that makes the others wait belongs to a
 * session, which such a pooler lends to others.
 */
export function migrate({ url, set = LATCHKEY_MIGRATIONS }: MigrationsOptions): Promise<readonly string[]> {
  return withDirectClient(url, async (client) => {
    if ((await pendingOn(client, set)).length === 0) return []
    if (await isTransactionPooler(url)) {
      throw new DatabaseRefused(
        'The database is behind a transaction pooler: set DATABASE_DIRECT_URL to the address of the server itself.',
      )
    }
    const { runner } = await import('node-pg-migrate')
    const applied = await runner({
      dbClient: client,
      dir: set.folder,
      migrationsTable: set.table,
      migrationsSchema: 'public',
      direction: 'up',
      advisoryLockMode: 'wait',
      logger: SILENT,
    })
    return applied.map(({ name }) => name)
  })
}

/** Loads what `migrate` needs: half a second, which a start with nothing to do need not spend. */
export async function loadRunner(): Promise<void> {
  await import('node-pg-migrate')
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

async function pendingOn(client: Client, set: MigrationSet): Promise<readonly string[]> {
  const known = await knownMigrations(set)
  const applied = await appliedOn(client, set)
  const unknown = applied.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw new DatabaseRefused(
      `The database's schema is newer than this version of ${set.owner}: it has ${unknown.join(', ')}.`,
    )
  }
  return known.filter((name) => !applied.includes(name))
}

async function appliedOn(client: Client, { table }: MigrationSet): Promise<readonly string[]> {
  const name = `public.${client.escapeIdentifier(table)}`
  const { rows } = await client.query('select to_regclass($1) is not null as exists', [name])
  if (!rows[0].exists) return []
  const applied = await client.query<{ name: string }>(`select name from ${name} order by id`)
  return applied.rows.map((row) => row.name)
}
