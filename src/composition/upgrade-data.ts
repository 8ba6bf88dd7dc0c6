import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { openUpgrade } from '../adapters/embedded-postgres/open-upgrade.ts'
import type { Upgrade } from '../adapters/embedded-postgres/upgrade.ts'
import { loadBackup } from '../adapters/postgres/backup/restore-backup.ts'
import { writeBackup } from '../adapters/postgres/backup/write-backup.ts'
import { DatabaseRefused } from '../adapters/postgres/connection/database-refused.ts'
import { withDirectClient } from '../adapters/postgres/connection/direct-client.ts'
import type { MigrationSet } from '../adapters/postgres/migration-set.ts'
import type { TableReport, UpgradeOptions, UpgradeReport } from '../application/ports/backup.ts'
import { type DatabaseContext, DatabaseUnusable } from '../application/ports/database.ts'
import { embeddedLocation } from './postgres-server.ts'

/**
 * Copies all rows of the embedded database to a new cluster of the current major version, compares them, and puts the new
 * cluster in the place of the old one, which stays beside it. Returns null when the data is of the current version. May be
 * killed at any time and repeated.
 */
export async function upgradePostgresData(
  { configuration }: DatabaseContext,
  sets: readonly MigrationSet[],
  { oldBinaries, skip }: UpgradeOptions,
): Promise<UpgradeReport | null> {
  if (configuration.databaseUrl !== null)
    throw new DatabaseUnusable(
      'DATABASE_URL is set: only the data of the embedded PostgreSQL is upgraded by this command.',
    )
  const upgrade = await openUpgrade({ ...embeddedLocation(configuration), oldBinaries })
  if (upgrade === null) return null
  try {
    const { bytes, tables } = await copyRows(upgrade, sets, skip)
    // So that the stop is quick.
    await withDirectClient(upgrade.newUrl, (client) => client.query('checkpoint'))
    const { dataDir, from, to } = upgrade
    return { dataDir, from, to, bytes, tables, oldDataDir: await upgrade.finish() }
  } finally {
    await upgrade.close()
  }
}

async function copyRows(
  { oldUrl, newUrl, rowsFile }: Upgrade,
  sets: readonly MigrationSet[],
  skip: readonly string[],
): Promise<{ bytes: number; tables: readonly TableReport[] }> {
  const file = await open(rowsFile, 'wx', 0o600)
  let bytes = 0
  try {
    const write = async (chunk: Uint8Array) => {
      bytes += chunk.length
      await file.writeFile(chunk)
    }
    const old = await writeBackup(oldUrl, sets, { write, skip })
    const read = () => createReadStream(rowsFile, { highWaterMark: 262_144 })
    await loadBackup(newUrl, sets, { read, confirm: async () => {}, keepsOneTimeTokens: true })
    // The rows of a table that was just loaded come in the order in which they were loaded.
    const copied = await writeBackup(newUrl, sets, { write: async () => {}, skip: [] })
    requireEqual(old.tables, copied.tables)
    return { bytes, tables: old.tables }
  } finally {
    await file.close()
  }
}

function requireEqual(old: readonly TableReport[], copied: readonly TableReport[]): void {
  for (const { table, rows, sha256 } of old) {
    const copy = copied.find((one) => one.table === table)
    if (copy?.rows !== rows || copy.sha256 !== sha256)
      throw new DatabaseRefused(
        `The copy of the table ${table} differs from the original. The data folder is unchanged.`,
      )
  }
}
