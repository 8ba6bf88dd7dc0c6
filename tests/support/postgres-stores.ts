import { type DatabasePool, openPool } from '../../src/adapters/postgres/connection/pool.ts'
import type { DatabaseEvent } from '../../src/adapters/postgres/connection/pool-options.ts'
import { postgresCustomers } from '../../src/adapters/postgres/customers.ts'
import { postgresLoginTokens } from '../../src/adapters/postgres/login-tokens.ts'
import type { Stores } from '../../src/testing/stores.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

/** A test database with the adapters on it. */
export interface PostgresStores extends Stores {
  readonly database: TestDatabase
  readonly pool: DatabasePool
  /** The events that the pool reported so far. */
  readonly events: readonly DatabaseEvent[]
  /** Empties the stores and returns them. */
  fresh(): Promise<Stores>
  close(): Promise<void>
}

/** Creates a database and opens a pool on it. */
export async function openPostgresStores({ max = 10, prepared = true } = {}): Promise<PostgresStores> {
  const database = await createTestDatabase()
  const events: DatabaseEvent[] = []
  const pool = openPool({ url: database.url, max, prepared, onEvent: (event) => events.push(event) })
  const stores: Stores = {
    customers: postgresCustomers(pool),
    loginTokens: postgresLoginTokens(pool),
    dispose: async () => {},
  }
  return {
    ...stores,
    database,
    pool,
    events,
    async fresh() {
      await database.sql('truncate customers cascade')
      return stores
    },
    async close() {
      await pool.close()
      await database.drop()
    },
  }
}
