import { DatabaseRefused } from '../adapters/postgres/connection/database-refused.ts'
import type { MigrationSet } from '../adapters/postgres/migration-set.ts'
import { migrate, pendingMigrations } from '../adapters/postgres/migrations.ts'
import type { Configuration } from '../application/configuration.ts'

/** Applies the pending migrations of every set; returns their names in order. */
export function migrateSets(url: string, sets: readonly MigrationSet[]): Promise<readonly string[]> {
  return forEachSet(sets, (set) => migrate({ url, set }))
}

/** Returns the names of the pending migrations of every set, in order. Changes nothing. */
export function pendingInSets(url: string, sets: readonly MigrationSet[]): Promise<readonly string[]> {
  return forEachSet(sets, (set) => pendingMigrations({ url, set }))
}

/** Migrates, and returns the names. When `MIGRATE` is off, throws `DatabaseRefused` if a migration is pending. */
export async function migrateOrCheck(
  { migrate: mode }: Configuration,
  url: string,
  sets: readonly MigrationSet[],
): Promise<readonly string[]> {
  if (mode === 'auto') return migrateSets(url, sets)
  const pending = await pendingInSets(url, sets)
  if (pending.length === 0) return []
  throw new DatabaseRefused(
    `The schema lacks ${pending.join(', ')} and MIGRATE is off. Run the command migrate first.`,
  )
}

/** Processes the sets one after the other, because a later set may depend on an earlier one. */
async function forEachSet(
  sets: readonly MigrationSet[],
  work: (set: MigrationSet) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const names: string[] = []
  for (const set of sets) names.push(...(await work(set)))
  return names
}
