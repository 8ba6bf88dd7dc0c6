import type { Database } from '../../application/ports/database.ts'
import { tokenState } from '../../domain/login-token.ts'
import { memoryCustomers } from './customers.ts'
import { memoryInvalidations } from './invalidations.ts'
import { memoryLoginTokens } from './login-tokens.ts'
import { memoryOneTimeTokens } from './one-time-tokens.ts'
import { memoryStore } from './store.ts'

/**
 * Creates a database in the memory of this process. Every `open` uses the same `store`, by default an empty one, and
 * receives the invalidations of the others. Closing it keeps the data. It has no schema, and workers cannot share it.
 */
export function memoryDatabase(store = memoryStore()): Database {
  const customers = memoryCustomers(store)
  const loginTokens = memoryLoginTokens(store)
  const oneTimeTokens = memoryOneTimeTokens(store)
  const invalidations = memoryInvalidations()
  return {
    open: async (_role, { clock }) => ({
      customers,
      loginTokens,
      oneTimeTokens,
      invalidations,
      async countActiveTokens() {
        const nowMs = clock.nowMs()
        return [...store.tokens.values()].filter((token) => tokenState(token, nowMs) === 'active').length
      },
      ready: async () => true,
      close: async () => {},
    }),
    migrate: async () => [],
    pendingMigrations: async () => [],
  }
}
