import { LATCHKEY_MIGRATIONS, type MigrationSet } from '../adapters/postgres/migration-set.ts'
import type { Database } from '../application/ports/database.ts'
import { examinePostgres } from './examine-postgres.ts'
import { type OpenPostgres, openPostgres } from './open-postgres.ts'
import { backUpPostgres, restorePostgres } from './postgres-backup.ts'
import { migrateSets, pendingInSets } from './postgres-schema.ts'
import { withServer } from './postgres-server.ts'
import { upgradePostgresData } from './upgrade-data.ts'

/**
 * Returns the default database: the PostgreSQL of `DATABASE_URL`, or the embedded PostgreSQL. Every migration of the database
 * applies `migrations`, one set after the other, after Latchkey's: they may depend on Latchkey's tables. The open database
 * has the service's `pool`, whose `run` has a deadline for each call.
 */
export function postgresDatabase({
  migrations = [],
}: {
  readonly migrations?: readonly MigrationSet[]
} = {}): Database<OpenPostgres> {
  const sets = [LATCHKEY_MIGRATIONS, ...migrations]
  return {
    open: (role, context) => openPostgres(role, context, sets),
    migrate: (context) => withServer(context, (url) => migrateSets(url, sets)),
    pendingMigrations: (context) => withServer(context, (url) => pendingInSets(url, sets)),
    backUp: (context, options) => backUpPostgres(context, sets, options),
    restore: (context, options) => restorePostgres(context, sets, options),
    upgradeData: (context, options) => upgradePostgresData(context, sets, options),
    examine: (context) => examinePostgres(context, sets),
  }
}
