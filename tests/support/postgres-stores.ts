import { type DatabasePool, openPool } from '../../src/adapters/postgres/connection/pool.ts'
import type { DatabaseEvent } from '../../src/adapters/postgres/connection/pool-options.ts'
import { postgresCustomers } from '../../src/adapters/postgres/customers.ts'
import { postgresLoginTokens } from '../../src/adapters/postgres/login-tokens.ts'
import { postgresOneTimeTokens } from '../../src/adapters/postgres/one-time-tokens.ts'
import { PRUNE_LOCK } from '../../src/adapters/postgres/prune-tokens.ts'
import type { OneTimeStores } from '../../src/testing/stores.ts'
import { createTestDatabase, holdTransaction, type TestDatabase } from './database.ts'
import { openTcpProxy } from './tcp-proxy.ts'

/** A test database with the adapters on it. */
export interface PostgresStores extends OneTimeStores {
  readonly database: TestDatabase
  readonly pool: DatabasePool
  /** The events that the pool reported so far. */
  readonly events: readonly DatabaseEvent[]
  /** Empties the stores and returns them. */
  fresh(): Promise<OneTimeStores>
  close(): Promise<void>
}

/** Creates a database and opens a pool on it. With `stallable`, the pool connects through a proxy. */
export async function openPostgresStores({
  max = 10,
  prepared = true,
  stallable = false,
} = {}): Promise<PostgresStores> {
  const database = await createTestDatabase()
  const proxy = stallable ? await openTcpProxy(database.url) : null
  const events: DatabaseEvent[] = []
  const { url } = proxy ?? database
  const pool = openPool({ url, max, prepared, onEvent: (event) => events.push(event) })
  const stores: OneTimeStores = {
    customers: postgresCustomers(pool),
    loginTokens: postgresLoginTokens(pool),
    oneTimeTokens: postgresOneTimeTokens(pool),
    dispose: async () => {},
    ...(proxy !== null && {
      async stall() {
        proxy.freeze()
        return async () => proxy.thaw()
      },
    }),
    lockToken: (id) =>
      holdTransaction(database.url, 'select from login_tokens where id = $1 for update', [id]),
    holdPrune: () => holdTransaction(database.url, 'select pg_advisory_xact_lock($1)', [PRUNE_LOCK]),
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
      await proxy?.close()
      await database.drop()
    },
  }
}
