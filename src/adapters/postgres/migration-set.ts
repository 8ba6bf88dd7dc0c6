import { readdirSync, readFileSync } from 'node:fs'
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
  /** The version of the program, as `1.2.3`. Left out: the program does not start on a newer schema. */
  readonly version?: string
  /**
   * The oldest version of the program that works on the schema after these migrations. The database records it, so that a
   * program that is this old starts on the newer schema, as after a return to it. Left out: no older program starts.
   */
  readonly oldestVersion?: string
  /** Tables of the set that no CREATE TABLE in the files names, as `table` or `schema.table`: a backup includes them. */
  readonly tables?: readonly string[]
}

const folder = fileURLToPath(new URL('../../../sql', import.meta.url))

/** The migrations for customers and login tokens, and the last of them. */
export const LATCHKEY_MIGRATIONS = {
  folder,
  table: LEDGER,
  owner: 'Latchkey',
  version: String(
    JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version,
  ),
  // The version before this one: migrations only expand what it uses.
  oldestVersion: '0.1.0',
  newest: sortedNames(readdirSync(folder)).at(-1) ?? '',
} satisfies MigrationSet & { readonly newest: string }

/** Lists the names of the applied migrations. */
export const APPLIED_MIGRATIONS = {
  name: 'applied_migrations',
  text: `select name from ${LEDGER} order by id`,
}

/** Returns the names of the migrations that this version contains, in order. */
export async function knownMigrations({
  folder,
}: MigrationSet = LATCHKEY_MIGRATIONS): Promise<readonly string[]> {
  return sortedNames(await readdir(folder))
}

function sortedNames(files: readonly string[]): readonly string[] {
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort()
}
