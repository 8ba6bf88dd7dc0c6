export { DatabaseRefused, DatabaseUnreachable } from '../../adapters/postgres/connection/database-refused.ts'
export { type DatabasePool, openPool } from '../../adapters/postgres/connection/pool.ts'
export type { PoolOptions } from '../../adapters/postgres/connection/pool-options.ts'
export type { Result, Row, Session, Statement } from '../../adapters/postgres/connection/session.ts'
export { postgresCustomers } from '../../adapters/postgres/customers.ts'
export { checkServer } from '../../adapters/postgres/diagnostics/check-server.ts'
export { type PostgresReadiness, postgresReadiness } from '../../adapters/postgres/diagnostics/readiness.ts'
export { postgresLoginThrottle, pruneLoginAttempts } from '../../adapters/postgres/login-throttle.ts'
export { postgresLoginTokens } from '../../adapters/postgres/login-tokens.ts'
export type { MigrationSet } from '../../adapters/postgres/migration-set.ts'
export { migrate, pendingMigrations } from '../../adapters/postgres/migrations.ts'
export { postgresOneTimeTokens } from '../../adapters/postgres/one-time-tokens.ts'
export {
  leaseTimedInvalidations,
  type PostgresInvalidations,
  type PostgresInvalidationsOptions,
  postgresInvalidations,
} from '../../adapters/postgres/revocation/invalidations.ts'
