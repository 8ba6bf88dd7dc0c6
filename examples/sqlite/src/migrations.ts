import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseUnusable } from 'latchkey'
import type { SqliteDatabase } from './database.ts'

/** How long the migrations of another process are waited for, in milliseconds. */
const TURN_MS = 60_000

const FOLDER = new URL('../sql/', import.meta.url)
const KNOWN = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => file.slice(0, -'.sql'.length))
  .sort()

/** The names of the migrations that the file lacks, in order; throws `DatabaseUnusable` where the code is older than it. */
export async function pendingMigrations(database: SqliteDatabase): Promise<readonly string[]> {
  const applied = await database.read(TURN_MS, ({ rows }) => {
    const [table] = rows("select 1 from sqlite_schema where name = 'migrations'")
    return table === undefined ? [] : rows('select name from migrations').map(({ name }) => name as string)
  })
  const unknown = applied.filter((name) => !KNOWN.includes(name))
  if (unknown.length > 0)
    throw new DatabaseUnusable(`The schema is newer than this program: it has ${unknown.join(', ')}.`)
  return KNOWN.filter((name) => !applied.includes(name))
}

/** Applies what is pending, each migration once however many processes do this at the same time; answers the names. */
export async function migrate(database: SqliteDatabase): Promise<readonly string[]> {
  if ((await pendingMigrations(database)).length === 0) return []
  return database.write(TURN_MS, ({ rows, change }) => {
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
