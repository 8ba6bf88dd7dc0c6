import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { LEDGER } from './connection/schema.ts'

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
