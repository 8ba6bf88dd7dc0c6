import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseUnusable } from 'latchkey'
import type { MariadbDatabase, Session } from './database.ts'

/** The timeout for the migrations of another process. */
const LOCK_TIMEOUT_S = 60
const TIMEOUT_MS = (LOCK_TIMEOUT_S + 5) * 1000
/** A lock has a name of at most 64 characters in the whole server. */
const LOCK_NAME = "concat('latchkey ', sha1(database()))"

const FOLDER = new URL('../sql/', import.meta.url)
const KNOWN = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .map((file) => file.slice(0, -'.sql'.length))
  .sort()

/** Returns the names of the pending migrations, in order. Throws `DatabaseUnusable` when the schema is newer. */
export function pendingMigrations(database: MariadbDatabase): Promise<readonly string[]> {
  return database.read(TIMEOUT_MS, findPending)
}

/** Applies pending migrations, each once, also in concurrent processes. Returns their names. */
export async function migrate(database: MariadbDatabase): Promise<readonly string[]> {
  if ((await pendingMigrations(database)).length === 0) return []
  return database.write(TIMEOUT_MS, async (session) => {
    const [lock] = await session.rows(`select get_lock(${LOCK_NAME}, ${LOCK_TIMEOUT_S}) as is_held`)
    if (lock?.is_held !== 1) throw new DatabaseUnusable('Another process still migrates. Try again later.')
    try {
      return await applyPending(session)
    } finally {
      await session.rows(`select release_lock(${LOCK_NAME})`)
    }
  })
}

async function applyPending(session: Session): Promise<readonly string[]> {
  await session.change(
    'create table if not exists migrations (name varchar(200) primary key) engine = innodb',
  )
  const pending = await findPending(session)
  for (const name of pending) {
    const statements = readFileSync(new URL(`${name}.sql`, FOLDER), 'utf8').split(/;\n/)
    for (const statement of statements) if (statement.trim() !== '') await session.change(statement)
    await session.change('insert into migrations (name) values (?)', [name])
  }
  return pending
}

async function findPending({ rows }: Session): Promise<readonly string[]> {
  const tables = await rows(
    "select 1 from information_schema.tables where table_schema = database() and table_name = 'migrations'",
  )
  const applied =
    tables.length === 0 ? [] : (await rows('select name from migrations')).map(({ name }) => name)
  const unknown = applied.filter((name) => !KNOWN.includes(name as string))
  if (unknown.length > 0)
    throw new DatabaseUnusable(`The schema is newer than this program: it has ${unknown.join(', ')}.`)
  return KNOWN.filter((name) => !applied.includes(name))
}
