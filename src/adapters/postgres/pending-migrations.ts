import type { Client } from 'pg'
import { DatabaseRefused } from './connection/database-refused.ts'
import { LEDGER } from './connection/schema.ts'
import { knownMigrations, type MigrationSet } from './migration-set.ts'
import { readTarget, requireOwnTables } from './migration-target.ts'

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
