import { fileURLToPath } from 'node:url'
import { readProcessConfiguration } from 'latchkey/adapters/config'
import { type DatabasePool, DatabaseRefused, type MigrationSet, openPool } from 'latchkey/adapters/postgres'

/** The connections of the orders to the database of the service. */
export interface OrdersDatabase {
  /** Returns the pool, which opens at the first use. Throws `DatabaseRefused` when a setting is invalid. */
  pool(): DatabasePool
  close(): Promise<void>
}

/** Returns the problem with the settings for orders as one line, or null. `runProgram` reports all other problems. */
export function settingsProblem(): string | null {
  try {
    settings()
    return null
  } catch (error) {
    return error instanceof DatabaseRefused ? error.message : null
  }
}

/** Creates the connections from the settings, which are read at the first use of the pool. */
export function ordersDatabase(): OrdersDatabase {
  let open: DatabasePool | null = null
  return {
    pool() {
      const { databaseUrl, poolMax, prepared } = settings()
      open ??= openPool({ url: databaseUrl, max: poolMax, prepared, onEvent() {} })
      return open
    },

    async close() {
      await open?.close()
    },
  }
}

/** The migrations of the orders, which run after those of Latchkey. */
export const ORDERS_MIGRATIONS: MigrationSet = {
  folder: fileURLToPath(new URL('../../sql', import.meta.url)),
  table: 'orders_migrations',
  owner: 'the orders',
}

function settings() {
  const { configuration } = readProcessConfiguration()
  const { databaseUrl } = configuration
  if (databaseUrl === null) throw new DatabaseRefused('Set DATABASE_URL: the orders are stored there.')
  return { ...configuration, databaseUrl }
}
