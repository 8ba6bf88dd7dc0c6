import { locateDataFolder } from '../adapters/embedded-postgres/data-folder.ts'
import { databaseFolder } from '../adapters/node-fs/permissions.ts'
import { examineDatabase } from '../adapters/postgres/diagnostics/examine-database.ts'
import type { MigrationSet } from '../adapters/postgres/migration-set.ts'
import type { DatabaseContext } from '../application/ports/database.ts'
import { type CheckResult, checkPassed } from '../lib/check-result.ts'
import { embeddedLocation, openServer } from './postgres-server.ts'

/** Checks the configured PostgreSQL for `doctor`: the data folder, if it is embedded, and the server. */
export async function examinePostgres(
  context: DatabaseContext,
  sets: readonly MigrationSet[],
): Promise<readonly CheckResult[]> {
  const { configuration } = context
  const folder = configuration.databaseUrl === null ? locateDataFolder(embeddedLocation(configuration)) : null
  const folderResults = folder === null ? [] : [databaseFolder('files.DATA_DIR', folder.path)]
  // A server on a full disk does not start.
  if (folderResults.some(({ state }) => state === 'failure')) return folderResults
  if (folder?.isPrepared === false)
    return [
      ...folderResults,
      checkPassed('database', 'The embedded PostgreSQL does not exist yet; the first start creates it.'),
    ]
  const { prepared, migrate, bcryptCost, workers, poolMax } = configuration
  // Besides its pool, each process has a listener connection and a publisher connection.
  const connections = workers * (poolMax + 2)
  const server = await openServer('command', context)
  try {
    const { url, directUrl } = server
    const settings = { url, directUrl, sets, prepared, migrate, bcryptCost, connections }
    return [...folderResults, ...(await examineDatabase(settings))]
  } finally {
    await server.close()
  }
}
