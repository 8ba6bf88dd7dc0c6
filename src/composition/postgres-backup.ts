import { loadBackup } from '../adapters/postgres/backup/restore-backup.ts'
import { writeBackup } from '../adapters/postgres/backup/write-backup.ts'
import type { MigrationSet } from '../adapters/postgres/migration-set.ts'
import { leaseTimedInvalidations } from '../adapters/postgres/revocation/invalidations.ts'
import type { BackupOptions, BackupReport, RestoreOptions } from '../application/ports/backup.ts'
import type { DatabaseContext } from '../application/ports/database.ts'
import { migrateSets } from './postgres-schema.ts'
import { withServer } from './postgres-server.ts'

/** Writes a backup of the configured database, whether or not its service runs. */
export function backUpPostgres(
  context: DatabaseContext,
  sets: readonly MigrationSet[],
  options: BackupOptions,
): Promise<BackupReport> {
  return withServer(context, (url) => writeBackup(url, sets, options))
}

/** Restores a backup. Resolves once no instance uses a validation that it cached before. */
export function restorePostgres(
  context: DatabaseContext,
  sets: readonly MigrationSet[],
  options: RestoreOptions,
): Promise<BackupReport> {
  return withServer(context, async (url) => {
    const report = await loadBackup(url, sets, options)
    await migrateSets(url, sets)
    await leaseTimedInvalidations().publish({ kind: 'everything' })
    return report
  })
}
