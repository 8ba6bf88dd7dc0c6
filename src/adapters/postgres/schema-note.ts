import type { Client } from 'pg'
import { sqlState } from './connection/sql-state.ts'
import { knownMigrations, LATCHKEY_MIGRATIONS, type MigrationSet } from './migration-set.ts'
import type { MigrationTarget } from './migration-target.ts'

/** What a schema says to programs that are older than it: a comment on the ledger, which every role may read. */
export interface SchemaNote {
  /** The last migration of the program that wrote the note. */
  readonly newest: string
  /** The oldest version of the program that works on the schema, as `1.2.3`. */
  readonly oldestVersion: string
}

const NOTE = '^Schema (\\S+), for version (\\d+\\.\\d+\\.\\d+) or newer$'

/** Returns the note of the ledger, or null if there is none. */
export async function readNote(client: Client, ledger: string | null): Promise<SchemaNote | null> {
  const { rows } = await client.query<{ note: [string, string] | null }>(
    `select regexp_match(obj_description(to_regclass($1), 'pg_class'), $2) as note`,
    [ledger, NOTE],
  )
  const note = rows[0]?.note ?? null
  return note === null ? null : { newest: note[0], oldestVersion: note[1] }
}

/** Writes the note of the set, unless it is there or the role may not write it. */
export async function writeNote(
  client: Client,
  set: MigrationSet,
  { ledger, may }: MigrationTarget,
): Promise<void> {
  const newest = (await knownMigrations(set)).at(-1)
  if (ledger === null || !may.own || newest === undefined || set.oldestVersion === undefined) return
  const note = await readNote(client, ledger)
  if (note?.newest === newest && note.oldestVersion === set.oldestVersion) return
  const text = client.escapeLiteral(`Schema ${newest}, for version ${set.oldestVersion} or newer`)
  try {
    await client.query(`comment on table ${ledger} is ${text}`)
  } catch (error) {
    // A database that is read-only or full starts without it. The next `migrate` repeats it.
    if (sqlState(error) === null) throw error
  }
}

/** Whether a program of this version works on a schema that needs `oldestVersion`; both as `1.2.3`. */
export function isVersionAtLeast(version: string, oldestVersion: string): boolean {
  const [own, needed] = [parts(version), parts(oldestVersion)]
  const index = own.findIndex((part, place) => part !== needed[place])
  return index === -1 || (own[index] ?? 0) > (needed[index] ?? 0)
}

function parts(version: string): readonly number[] {
  return (/^\d+\.\d+\.\d+/.exec(version)?.[0] ?? '0.0.0').split('.').map(Number)
}

/**
 * A condition in SQL: the schema is that of a newer version, and says that this version works on it. Of such a schema the
 * bodies of functions and the indexes are not known here.
 */
export const IS_NEWER_SCHEMA = `
  exists (select from regexp_match(obj_description(to_regclass('${LATCHKEY_MIGRATIONS.table}'), 'pg_class'), '${NOTE}') as note
           where note[1] collate "C" > '${LATCHKEY_MIGRATIONS.newest}'
             and string_to_array(note[2], '.')::int[] <= array[${parts(LATCHKEY_MIGRATIONS.version)}])`
