import { fileURLToPath } from 'node:url'
import { readProcessConfiguration } from 'latchkey/adapters/config'
import { type DatabasePool, DatabaseRefused, type MigrationSet, openPool } from 'latchkey/adapters/postgres'

/** The program's own part of the database that Latchkey uses: connections of its own. */
export interface OrdersDatabase {
  /** The connections, which are made when they are first used. */
  pool(): DatabasePool
  close(): Promise<void>
}

/** What is wrong with the settings for orders, as one line, or null. What is wrong for everybody, the program tells. */
export function settingsProblem(): string | null {
  try {
    settings()
    return null
  } catch (error) {
    return error instanceof DatabaseRefused ? error.message : null
  }
}

/** The database of the settings. Nothing is read before it is asked for; then it throws what is wrong with them. */
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

/** The orders' table; Latchkey's own are applied before. */
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
