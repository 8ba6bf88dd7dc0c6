import { DatabaseUnusable } from 'latchkey'
import Database from 'libsql'
import { primaryCode } from './database.ts'

const BUSY = 5

/** The lock of a service on its file. The operating system releases it when the process is killed. */
export interface ServiceLock {
  end(): void
}

/**
 * Locks a file for one service with a cache, or for any number without: a service with a cache is not notified of
 * revocations by another one. Throws `DatabaseUnusable` when the file is locked.
 */
export function lockForService(file: string, { caches }: { readonly caches: boolean }): ServiceLock {
  const database = new Database(`${file}-services`)
  try {
    // SQLite locks: an exclusive lock excludes all others, a shared lock only exclusive ones.
    database.exec(caches ? 'begin exclusive' : 'begin; select count(*) from sqlite_schema')
  } catch (error) {
    database.close()
    if (primaryCode(error) !== BUSY) throw error
    throw new DatabaseUnusable(
      `Another service serves from ${file}. Several can with TOKEN_CACHE_TTL=0s, each of them.`,
    )
  }
  return { end: () => void database.close() }
}
