import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseUnusable } from 'latchkey'
import type { SqliteDatabase } from './database.ts'

/** The timeout for the migrations of another process, in milliseconds. */
const LOCK_TIMEOUT_MS = 60_000

const FOLDER = new URL('../sql/', import.meta.url)
const KNOWN = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => file.slice(0, -'.sql'.length))
  .sort()

/** Returns the names of the pending migrations, in order. Throws `DatabaseUnusable` when the schema is newer. */
export async function pendingMigrations(database: SqliteDatabase): Promise<readonly string[]> {
  const applied = await database.read(LOCK_TIMEOUT_MS, ({ rows }) => {
    const [table] = rows("select 1 from sqlite_schema where name = 'migrations'")
    return table === undefined ? [] : rows('select name from migrations').map(({ name }) => name as string)
  })
  const unknown = applied.filter((name) => !KNOWN.includes(name))
  if (unknown.length > 0)
    throw new DatabaseUnusable(`The schema is newer than this program: it has ${unknown.join(', ')}.`)
  return KNOWN.filter((name) => !applied.includes(name))
}

/** Applies pending migrations, each once, also in concurrent processes. Returns their names. */
export async function migrate(database: SqliteDatabase): Promise<readonly string[]> {
  if ((await pendingMigrations(database)).length === 0) return []
  return database.write(LOCK_TIMEOUT_MS, ({ rows, change }) => {
    database.script('create table if not exists migrations (name text primary key) strict')
    const applied = rows('select name from migrations').map(({ name }) => name)
    const pending = KNOWN.filter((name) => !applied.includes(name))
    for (const name of pending) {
      database.script(readFileSync(new URL(`${name}.sql`, FOLDER), 'utf8'))
      change('insert into migrations (name) values (?)', [name])
    }
    return pending
  })
}
