import type { Client } from 'pg'
import { DatabaseRefused } from './connection/database-refused.ts'
import { LEDGER } from './connection/schema.ts'
import { knownMigrations, type MigrationSet } from './migration-set.ts'
import { type MigrationTarget, readTarget, requireOwnTables } from './migration-target.ts'
import { isVersionAtLeast, readNote, type SchemaNote } from './schema-note.ts'
import type { SchemaState } from './schema-state.ts'

/**
 * Returns the state of the set's schema. Throws `DatabaseRefused` when it is too new for this version of the program.
 * Reads one snapshot, because another process may migrate at the same time: tables without a ledger would be refused.
 */
export async function readState(
  client: Client,
  set: MigrationSet,
): Promise<SchemaState & { readonly target: MigrationTarget }> {
  await client.query('begin isolation level repeatable read read only')
  try {
    return await readSnapshot(client, set)
  } finally {
    // A lost connection has ended the transaction, and its error says more.
    await client.query('rollback').catch(() => {})
  }
}

async function readSnapshot(client: Client, set: MigrationSet) {
  const known = await knownMigrations(set)
  const target = await readTarget(client, set.table)
  const applied = await readApplied(client, target.ledger)
  if (set.table === LEDGER) await requireOwnTables(client, target, applied.length === 0)
  const pending = known.filter((name) => !applied.includes(name))
  const newer = applied.filter((name) => !known.includes(name))
  if (newer.length > 0) requireUsable(set, { pending, newer }, await readNote(client, target.ledger))
  return { pending, newer, target }
}

function requireUsable(
  { owner, version }: MigrationSet,
  { pending, newer }: SchemaState,
  note: SchemaNote | null,
): void {
  const refusal = `The database's schema is newer than this version of ${owner}: it has ${newer.join(', ')}.`
  // Without a note of the version that applied them, nothing is known about these migrations.
  if (note === null || newer.some((name) => name > note.newest)) throw new DatabaseRefused(refusal)
  if (version === undefined || !isVersionAtLeast(version, note.oldestVersion))
    throw new DatabaseRefused(
      `${refusal} It needs version ${note.oldestVersion} or newer${version === undefined ? '' : `, and this is ${version}`}.`,
    )
  if (pending.length > 0) throw new DatabaseRefused(`${refusal} It lacks ${pending.join(', ')}.`)
}

/** Returns the names of the applied migrations; none without a ledger. */
export async function readApplied(client: Client, ledger: string | null): Promise<readonly string[]> {
  if (ledger === null) return []
  const { rows } = await client.query<{ name: string }>(`select name from ${ledger} order by id`)
  return rows.map(({ name }) => name)
}
