export { checkServer } from '../../adapters/postgres/check-server.ts'
export { postgresCustomers } from '../../adapters/postgres/customers.ts'
export { DatabaseRefused, DatabaseUnreachable } from '../../adapters/postgres/database-refused.ts'
export {
  type PostgresInvalidations,
  type PostgresInvalidationsOptions,
  postgresInvalidations,
  waitedInvalidations,
} from '../../adapters/postgres/invalidations.ts'
export { postgresLoginThrottle, pruneLoginAttempts } from '../../adapters/postgres/login-throttle.ts'
export { postgresLoginTokens } from '../../adapters/postgres/login-tokens.ts'
export { type MigrationSet, migrate, pendingMigrations } from '../../adapters/postgres/migrations.ts'
export { type DatabasePool, openPool, type PoolOptions } from '../../adapters/postgres/pool.ts'
export { postgresReadiness, type Readiness } from '../../adapters/postgres/readiness.ts'
export type { Result, Row, Session, Statement } from '../../adapters/postgres/session.ts'
