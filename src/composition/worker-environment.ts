import type { Configuration } from '../application/configuration.ts'
import { DatabaseUnusable, type OpenDatabase } from '../application/ports/database.ts'

/** The parts of a database that workers need; undefined for those that it lacks. */
type SharedParts = { readonly [Part in 'workerEnv' | 'invalidations']?: OpenDatabase[Part] | undefined }

/**
 * Returns the environment variables with which a worker opens the same database. Throws `DatabaseUnusable` when several
 * processes cannot share it.
 */
export function workerEnvironment(
  { workerEnv, invalidations }: SharedParts,
  { workers, tokenCacheTtlMs }: Configuration,
): Readonly<Record<string, string>> {
  if (workerEnv === undefined) {
    throw new DatabaseUnusable(`WORKERS=${workers}: only one process can serve from this database.`)
  }
  if (invalidations === undefined && tokenCacheTtlMs > 0) {
    throw new DatabaseUnusable(
      `WORKERS=${workers} needs TOKEN_CACHE_TTL=0s on this database, which does not publish revocations to other processes.`,
    )
  }
  return workerEnv
}
