import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { DatabaseRefused, DatabaseUnreachable } from './connection/database-refused.ts'
import { failureReason, withDirectClient } from './connection/direct-client.ts'
import { sqlState } from './connection/sql-state.ts'
import { isTransactionPooler } from './connection/transaction-pooler.ts'
import { knownMigrations, LATCHKEY_MIGRATIONS, type MigrationSet } from './migration-set.ts'
import { readTarget, requireOwner } from './migration-target.ts'
import { readApplied, readState } from './pending-migrations.ts'
import { writeNote } from './schema-note.ts'
import type { SchemaState } from './schema-state.ts'

/** How long a migration waits for a lock: the requests that need the table wait behind it. */
const LOCK_WAIT = '2s'
const LOCK_ATTEMPTS = 60
const BETWEEN_ATTEMPTS_MS = 1000
const LOCK_NOT_AVAILABLE = '55P03'

/** The database and the set of migrations. */
interface MigrationsOptions {
  readonly url: string
  /** That of Latchkey by default. */
  readonly set?: MigrationSet
  /** The number of migrations of the set that the schema has afterwards. Default: all. */
  readonly upTo?: number
}

/**
 * Returns the names of the migrations that `migrate` would apply, in order. Throws `DatabaseRefused` when the schema is
 * too new for the code.
 */
export async function pendingMigrations(options: MigrationsOptions): Promise<readonly string[]> {
  return (await schemaState(options)).pending
}

/** Returns the pending migrations, and those of a newer version. Throws like `pendingMigrations`. */
export function schemaState({ url, set = LATCHKEY_MIGRATIONS }: MigrationsOptions): Promise<SchemaState> {
  return withDirectClient(url, (client) => readState(client, set))
}

/**
 * Applies the pending migrations and returns their names. Each has its own transaction. Parallel processes apply each
 * migration once. A migration that waits two seconds for a lock is rolled back and repeated, 60 times at most. Throws
 * `DatabaseRefused` when a migration fails, when the role may not migrate, and behind a transaction pooler, because the
 * advisory lock between the processes needs its own session.
 */
export function migrate({
  url,
  set = LATCHKEY_MIGRATIONS,
  upTo = Number.POSITIVE_INFINITY,
}: MigrationsOptions): Promise<readonly string[]> {
  return withDirectClient(url, async (client) => {
    const known = await knownMigrations(set)
    const isWanted = (name: string) => known.indexOf(name) < upTo
    if (!(await checkPending(client, set)).some(isWanted)) return []
    if (await isTransactionPooler(url)) {
      throw new DatabaseRefused(
        'The database is behind a transaction pooler: set DATABASE_DIRECT_URL to the address of the server itself.',
      )
    }
    const { PG_MIGRATE_LOCK_ID, runner } = await import('node-pg-migrate')
    // It is released when the connection closes.
    await client.query(`select pg_advisory_lock(${PG_MIGRATE_LOCK_ID})`)
    const { pending, target } = await readState(client, set)
    const wanted = pending.filter(isWanted)
    if (wanted.length === 0) return []
    requireOwner(target)
    // Before them, so that no older program that cannot use the new schema starts in between.
    await writeNote(client, set, target)
    await client.query(`set lock_timeout = '${LOCK_WAIT}'`)
    for (let attempt = 1; ; attempt++)
      try {
        await runner({
          dbClient: client,
          dir: set.folder,
          migrationsTable: set.table,
          migrationsSchema: target.schemaName,
          direction: 'up',
          count: wanted.length,
          noLock: true,
          logger: SILENT,
        })
        // An empty database had no ledger before.
        await checkPending(client, set)
        return wanted
      } catch (error) {
        if (sqlState(error) !== LOCK_NOT_AVAILABLE || attempt === LOCK_ATTEMPTS)
          throw await explainFailure(client, set, error)
        await client.query('rollback')
        await sleep(BETWEEN_ATTEMPTS_MS)
      }
  })
}

/** Returns the pending migrations. Without one, the database has the note of the newest program, too. */
async function checkPending(client: Client, set: MigrationSet): Promise<readonly string[]> {
  const { pending, newer, target } = await readState(client, set)
  if (pending.length === 0 && newer.length === 0) await writeNote(client, set, target)
  return pending
}

/** Loads the migration library, which takes half a second, before `migrate` needs it. */
export async function loadRunner(): Promise<void> {
  await import('node-pg-migrate')
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

/** Returns the error of a failed migration with its name. Leaves no ledger when it was the first one. */
async function explainFailure(client: Client, set: MigrationSet, error: unknown): Promise<unknown> {
  if (sqlState(error) === null)
    return new DatabaseUnreachable(`The migration was interrupted: ${failureReason(error)}.`, {
      cause: error,
    })
  await client.query('rollback')
  const { ledger } = await readTarget(client, set.table)
  const applied = await readApplied(client, ledger)
  const failed = (await knownMigrations(set)).find((name) => !applied.includes(name))
  if (applied.length === 0 && ledger !== null) await client.query(`drop table ${ledger}`)
  return new DatabaseRefused(`The migration ${failed}.sql of ${set.owner} failed: ${failureReason(error)}.`, {
    cause: error,
  })
}
