import { LATCHKEY_MIGRATIONS, type MigrationSet } from '../adapters/postgres/migrations.ts'
import type { Database } from '../application/ports/database.ts'
import { examinePostgres } from './examine-postgres.ts'
import { openPostgres } from './open-postgres.ts'
import { migrateSets, pendingInSets } from './postgres-schema.ts'
import { withServer } from './postgres-server.ts'

/** The default database: the PostgreSQL of `DATABASE_URL`, or the embedded PostgreSQL. */
export const postgresDatabase: Database = createPostgresDatabase([])

/**
 * Creates the same database with additional migrations. Every migration of the database applies them, one set after the
 * other, after Latchkey's: they may depend on Latchkey's tables.
 */
export function createPostgresDatabase(own: readonly MigrationSet[]): Database {
  const sets = [LATCHKEY_MIGRATIONS, ...own]
  return {
    open: (role, context) => openPostgres(role, context, sets),
    migrate: (context) => withServer(context, (url) => migrateSets(url, sets)),
    pendingMigrations: (context) => withServer(context, (url) => pendingInSets(url, sets)),
    examine: (context) => examinePostgres(context, sets),
  }
}
