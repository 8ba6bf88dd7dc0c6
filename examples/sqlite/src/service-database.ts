import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Database, type DatabaseContext, DatabaseUnusable, type OpenDatabase, type Role } from 'latchkey'
import { sqliteCustomers } from './customers.ts'
import { openDatabase, type SqliteDatabase } from './database.ts'
import { sqliteLoginTokens } from './login-tokens.ts'
import { migrate, pendingMigrations } from './migrations.ts'
import { sqliteOneTimeTokens } from './one-time-tokens.ts'
import { lockForService, type ServiceLock } from './service-lock.ts'
import { countActiveTokens } from './upkeep.ts'

/** The timeout of the count, which delays no request. */
const COUNT_TIMEOUT_MS = 1000

/** Customers and login tokens in the file `latchkey.sqlite` of `DATA_DIR`, for any number of processes of one machine. */
export const sqliteDatabase: Database = {
  open,
  migrate: (context) => withDatabase(context, migrate),
  pendingMigrations: (context) => withDatabase(context, pendingMigrations),
}

async function open(role: Role, { configuration, log, clock }: DatabaseContext): Promise<OpenDatabase> {
  const folder = dataFolder(configuration)
  const database = openIn(folder)
  let lock: ServiceLock | null = null
  try {
    if (role === 'service')
      lock = lockForService(fileIn(folder), { caches: configuration.tokenCacheTtlMs > 0 })
    for (const name of await bringUpToDate(database, configuration))
      log.info('database.migrated', { detail: name })
    return {
      customers: sqliteCustomers(database),
      loginTokens: sqliteLoginTokens(database),
      oneTimeTokens: sqliteOneTimeTokens(database),
      // Workers open the same file. No process is notified of changes, so workers cannot cache.
      workerEnv: { DATA_DIR: folder },
      countActiveTokens: () => countActiveTokens(database, clock.nowMs(), COUNT_TIMEOUT_MS),
      ready: (timeoutMs) => isReady(database, timeoutMs),
      async close() {
        database.close()
        lock?.end()
      },
    }
  } catch (error) {
    lock?.end()
    database.close()
    throw error
  }
}

async function withDatabase<T>(
  { configuration }: DatabaseContext,
  use: (database: SqliteDatabase) => Promise<T>,
): Promise<T> {
  const database = openIn(dataFolder(configuration))
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
    // The file is locked, missing or not a database.
    return false
  }
}

function dataFolder({ dataDir }: DatabaseContext['configuration']): string {
  return resolve(dataDir ?? 'data')
}

function fileIn(folder: string): string {
  return resolve(folder, 'latchkey.sqlite')
}

function openIn(folder: string): SqliteDatabase {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return openDatabase(fileIn(folder))
}
