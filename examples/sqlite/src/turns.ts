import { DatabaseUnusable } from 'latchkey'
import Database from 'libsql'
import { primaryCode } from './database.ts'

const BUSY = 5

/** What a service holds of a file for as long as it serves from it; the system takes it back from one that was killed. */
export interface Turn {
  end(): void
}

/**
 * Lets either one service that keeps validations have the file, or any number that keep none: nobody tells one that keeps
 * them of what another revokes. Throws `DatabaseUnusable` where it is not the turn of this one.
 */
export function takeTurn(file: string, { keeps }: { readonly keeps: boolean }): Turn {
  const database = new Database(`${file}-services`)
  try {
    // SQLite's own locks: to write excludes everybody, to read excludes who writes.
    database.exec(keeps ? 'begin exclusive' : 'begin; select count(*) from sqlite_schema')
  } catch (error) {
    database.close()
    if (primaryCode(error) !== BUSY) throw error
    throw new DatabaseUnusable(
      `Another service serves from ${file}. Several can with TOKEN_CACHE_TTL=0s, each of them.`,
    )
  }
  return { end: () => void database.close() }
}
