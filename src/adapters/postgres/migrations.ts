import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Client } from 'pg'
import { DatabaseRefused } from './database-refused.ts'
import { withDirectClient } from './direct-client.ts'
import { isTransactionPooler } from './transaction-pooler.ts'

const SQL_FOLDER = fileURLToPath(new URL('../../../sql', import.meta.url))
const VERSION_TABLE = 'latchkey_migrations'

/** Lists the names of the migrations in the schema that are applied. */
export const APPLIED_MIGRATIONS = {
  name: 'applied_migrations',
  text: `select name from public.${VERSION_TABLE} order by id`,
}

/** The names of the migrations that this version of the code knows, in order. */
export async function knownMigrations(): Promise<readonly string[]> {
  const files = (await readdir(SQL_FOLDER)).filter((file) => file.endsWith('.sql'))
  return files.map((file) => file.slice(0, -'.sql'.length)).sort()
}

/**
 * The names of the migrations that `migrate` would apply, in order; throws `DatabaseRefused` when the schema is newer
 * than the code.
 */
export function pendingMigrations({ url }: { readonly url: string }): Promise<readonly string[]> {
  return withDirectClient(url, pendingOn)
}

/**
 * Applies what is pending, each migration once however many processes do this at the same time, and answers the
 * names. Throws `DatabaseRefused` behind a transaction pooler: the lock that makes the others wait belongs to a
 * session, which such a pooler lends to others.
 */
export function migrate({ url }: { readonly url: string }): Promise<readonly string[]> {
  return withDirectClient(url, async (client) => {
    if ((await pendingOn(client)).length === 0) return []
    if (await isTransactionPooler(url)) {
      throw new DatabaseRefused(
        'The database is behind a transaction pooler: set DATABASE_DIRECT_URL to the address of the server itself.',
      )
    }
    const { runner } = await loadRunner()
    const applied = await runner({
      dbClient: client,
      dir: SQL_FOLDER,
      migrationsTable: VERSION_TABLE,
      migrationsSchema: 'public',
      direction: 'up',
      advisoryLockMode: 'wait',
      logger: SILENT,
    })
    return applied.map(({ name }) => name)
  })
}

/** Loads what `migrate` needs: half a second, which a start with nothing to do need not spend. */
export function loadRunner(): Promise<typeof import('node-pg-migrate')> {
  return import('node-pg-migrate')
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

async function pendingOn(client: Client): Promise<readonly string[]> {
  const known = await knownMigrations()
  const applied = await appliedOn(client)
  const unknown = applied.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw new DatabaseRefused(
      `The database's schema is newer than this version of Latchkey: it has ${unknown.join(', ')}.`,
    )
  }
  return known.filter((name) => !applied.includes(name))
}

async function appliedOn(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query(`select to_regclass('public.${VERSION_TABLE}') is not null as exists`)
  if (!rows[0].exists) return []
  return (await client.query<{ name: string }>(APPLIED_MIGRATIONS.text)).rows.map(({ name }) => name)
}
