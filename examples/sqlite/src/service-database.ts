import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Database, type DatabaseContext, DatabaseUnusable, type OpenDatabase, type Role } from 'latchkey'
import { sqliteCustomers } from './customers.ts'
import { openDatabase, type SqliteDatabase } from './database.ts'
import { sqliteLoginTokens } from './login-tokens.ts'
import { migrate, pendingMigrations } from './migrations.ts'
import { type Turn, takeTurn } from './turns.ts'
import { countActiveTokens } from './upkeep.ts'

/** Nobody who logs in waits for the count. */
const COUNT_WAIT_MS = 1000

/** Customers and login tokens in the file `latchkey.sqlite` of `DATA_DIR`, for any number of processes of one machine. */
export const sqliteDatabase: Database = {
  open,
  migrate: (context) => withDatabase(context, migrate),
  pendingMigrations: (context) => withDatabase(context, pendingMigrations),
}

async function open(role: Role, { configuration, log, clock }: DatabaseContext): Promise<OpenDatabase> {
  const folder = folderOf(configuration)
  const database = openIn(folder)
  let turn: Turn | null = null
  try {
    if (role === 'service') turn = takeTurn(fileIn(folder), { keeps: configuration.tokenCacheTtlMs > 0 })
    for (const name of await bringUpToDate(database, configuration))
      log.info('database.migrated', { detail: name })
    return {
      customers: sqliteCustomers(database),
      loginTokens: sqliteLoginTokens(database),
      // Workers open the same file. No process is told of what another changes: they may keep nothing.
      workerEnv: { DATA_DIR: folder },
      countActiveTokens: () => countActiveTokens(database, clock.nowMs(), COUNT_WAIT_MS),
      ready: (timeoutMs) => isReady(database, timeoutMs),
      async close() {
        database.close()
        turn?.end()
      },
    }
  } catch (error) {
    turn?.end()
    database.close()
    throw error
  }
}

async function withDatabase<T>(
  { configuration }: DatabaseContext,
  use: (database: SqliteDatabase) => Promise<T>,
): Promise<T> {
  const database = openIn(folderOf(configuration))
  try {
    return await use(database)
  } finally {
    database.close()
  }
}

async function bringUpToDate(
  database: SqliteDatabase,
  { migrate: mode }: DatabaseContext['configuration'],
): Promise<readonly string[]> {
  if (mode === 'auto') return migrate(database)
  const pending = await pendingMigrations(database)
  if (pending.length === 0) return []
  throw new DatabaseUnusable(
    `The schema lacks ${pending.join(', ')} and MIGRATE is off. Run the command migrate first.`,
  )
}

async function isReady(database: SqliteDatabase, timeoutMs: number): Promise<boolean> {
  try {
    await database.read(timeoutMs, ({ rows }) => rows('select 1 from customers limit 1'))
    return true
  } catch {
    // Held by another, gone, or no database of ours: none of it can serve.
    return false
  }
}

function folderOf({ dataDir }: DatabaseContext['configuration']): string {
  return resolve(dataDir ?? 'data')
}

function fileIn(folder: string): string {
  return resolve(folder, 'latchkey.sqlite')
}

function openIn(folder: string): SqliteDatabase {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return openDatabase(fileIn(folder))
}
