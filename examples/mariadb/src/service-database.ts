import { type Database, type DatabaseContext, DatabaseUnusable, type OpenDatabase } from 'latchkey'
import { memoryInvalidations } from 'latchkey/adapters/memory'
import { Unavailable } from 'latchkey/ports'
import { mariadbCustomers } from './customers.ts'
import { type MariadbDatabase, openDatabase } from './database.ts'
import { mariadbLoginTokens } from './login-tokens.ts'
import { migrate, pendingMigrations } from './migrations.ts'
import { mariadbOneTimeTokens } from './one-time-tokens.ts'
import { countActiveTokens } from './upkeep.ts'

/** The timeout of the count, which delays no request. */
const COUNT_TIMEOUT_MS = 1000

/** Customers and login tokens in the MariaDB of an address, for any number of processes. */
export function mariadbDatabase(url: string): Database {
  return {
    open,
    migrate: () => withDatabase(migrate),
    pendingMigrations: () => withDatabase(pendingMigrations),
  }

  async function open(_role: unknown, { configuration, log, clock }: DatabaseContext): Promise<OpenDatabase> {
    const database = openDatabase(url)
    try {
      for (const name of await forOperators(bringUpToDate(database, configuration)))
        log.info('database.migrated', { detail: name })
    } catch (error) {
      await database.close()
      throw error
    }
    return {
      customers: mariadbCustomers(database),
      loginTokens: mariadbLoginTokens(database),
      oneTimeTokens: mariadbOneTimeTokens(database),
      // Never current: every request reads the database, so that no other process needs to be notified.
      invalidations: { ...memoryInvalidations(), isCurrent: () => false },
      workerEnv: {},
      countActiveTokens: () => countActiveTokens(database, clock.nowMs(), COUNT_TIMEOUT_MS),
      ready: (timeoutMs) => isReady(database, timeoutMs),
      close: () => database.close(),
    }
  }

  async function withDatabase<T>(use: (database: MariadbDatabase) => Promise<T>): Promise<T> {
    const database = openDatabase(url)
    try {
      return await forOperators(use(database))
    } finally {
      await database.close()
    }
  }
}

async function forOperators<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    const reason = error.cause instanceof Error ? error.cause.message : 'no reason'
    throw new DatabaseUnusable(`MariaDB cannot be used: ${reason}`.replaceAll('\n', ' '))
  }
}

async function bringUpToDate(
  database: MariadbDatabase,
  { migrate: mode }: DatabaseContext['configuration'],
): Promise<readonly string[]> {
  if (mode === 'auto') return migrate(database)
  const pending = await pendingMigrations(database)
  if (pending.length === 0) return []
  throw new DatabaseUnusable(
    `The schema lacks ${pending.join(', ')} and MIGRATE is off. Run the command migrate first.`,
  )
}

async function isReady(database: MariadbDatabase, timeoutMs: number): Promise<boolean> {
  try {
    await database.read(timeoutMs, ({ rows }) => rows('select 1 from customers limit 1'))
    return true
  } catch {
    return false
  }
}
