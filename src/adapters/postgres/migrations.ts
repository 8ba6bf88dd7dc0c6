import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Client } from 'pg'
import { DatabaseRefused } from './connection/database-refused.ts'
import { withDirectClient } from './connection/direct-client.ts'
import { isTransactionPooler } from './connection/transaction-pooler.ts'

/** A set of migrations in plain SQL. A program may have its own set besides that of Latchkey. */
export interface MigrationSet {
  /** The folder with the files `NNNN_name.sql`, which are applied in this order. */
  readonly folder: string
  /** The table in the schema `public` that lists the applied migrations: a plain name, different for each set. */
  readonly table: string
  /** The name of the program that owns them, for messages to the operator. */
  readonly owner: string
}

/** The migrations for customers and login tokens. */
export const LATCHKEY_MIGRATIONS: MigrationSet = {
  folder: fileURLToPath(new URL('../../../sql', import.meta.url)),
  table: 'latchkey_migrations',
  owner: 'Latchkey',
}

/** Lists the names of the applied migrations. */
export const APPLIED_MIGRATIONS = {
  name: 'applied_migrations',
  text: `select name from public.${LATCHKEY_MIGRATIONS.table} order by id`,
}

/** Returns the names of the migrations that this version contains, in order. */
export async function knownMigrations({ folder } = LATCHKEY_MIGRATIONS): Promise<readonly string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'))
  return files.map((file) => file.slice(0, -'.sql'.length)).sort()
}

/** The database and the set of migrations. */
interface MigrationsOptions {
  readonly url: string
  /** That of Latchkey by default. */
  readonly set?: MigrationSet
}

/**
 * Returns the names of the migrations that `migrate` would apply, in order. Throws `DatabaseRefused` when the schema is
 * newer than the code.
 */
export function pendingMigrations({
  url,
  set = LATCHKEY_MIGRATIONS,
}: MigrationsOptions): Promise<readonly string[]> {
  return withDirectClient(url, (client) => pendingOn(client, set))
}

/**
 * Applies the pending migrations and returns their names. Parallel processes apply each migration once. Throws
 * `DatabaseRefused` behind a transaction pooler, because the advisory lock between the processes needs its own session.
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

/** Loads the migration library, which takes half a second, before `migrate` needs it. */
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
