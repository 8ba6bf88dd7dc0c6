import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readConfiguration } from '../../src/adapters/config/read-configuration.ts'
import { pinoLog } from '../../src/adapters/pino/log.ts'
import { systemClock } from '../../src/adapters/system-clock/clock.ts'
import type { Database } from '../../src/application/ports/database.ts'
import type { TestDatabase } from './database.ts'

const example = join(import.meta.dirname, '../../examples/sqlite')

/** Whether the services under test are those of `examples/sqlite`: `TEST_BACKEND=sqlite`. */
export const onSqlite = process.env.TEST_BACKEND === 'sqlite'

/** Why a test of PostgreSQL itself is skipped, or false. */
export const postgresAlone = onSqlite && 'it is about PostgreSQL, and the services here run on SQLite'

/** Why a test of several services with caches is skipped, or false. */
export const sharedCaches =
  onSqlite && 'its services cache validations, and on SQLite only a single service may cache'

/** The example's program, and the arguments with which Node runs it. */
export const sqliteProgram = {
  args: ['--import', import.meta.resolve('tsx'), join(example, 'main.ts')],
  env: { TSX_TSCONFIG_PATH: join(example, 'tsconfig.json') },
}

/** Imports the example's database. It imports the package, which its TypeScript settings resolve to this checkout. */
export async function sqliteDatabase(): Promise<Database> {
  if (process.env.TSX_TSCONFIG_PATH !== sqliteProgram.env.TSX_TSCONFIG_PATH)
    throw new Error('Run tests on SQLite by `TEST_BACKEND=sqlite npm test -- <file>`.')
  const { href } = pathToFileURL(join(example, 'src/service-database.ts'))
  return (await import(href)).sqliteDatabase
}

/** Creates a database file in a temporary folder, with the newest schema or empty. */
export async function createSqliteDatabase({
  migrated,
}: {
  readonly migrated: boolean
}): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-sqlite-'))
  const env = { DATA_DIR: folder }
  const { default: Database } = await import('libsql')
  if (migrated) {
    const { configuration } = readConfiguration({ env, dotEnv: null })
    const log = pinoLog({ level: 'silent' })
    await (await sqliteDatabase()).migrate({ configuration, log, clock: systemClock })
  }
  return {
    env,
    get url(): string {
      throw new Error('A file of SQLite has no address.')
    },
    async sql<Row>(text: string, values: readonly unknown[] = []) {
      const database = new Database(join(folder, 'latchkey.sqlite'), { timeout: 10_000 })
      try {
        database.exec('pragma foreign_keys = on')
        const statement = database.prepare<[readonly unknown[]]>(translated(text))
        if (statement.reader) return statement.all(values) as Row[]
        statement.run(values)
        return []
      } finally {
        database.close()
      }
    },
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Translates the PostgreSQL expressions with which tests read a database. */
function translated(text: string): string {
  return text
    .replaceAll(/\$(\d)/g, '?$1')
    .replaceAll('now()', `${Date.now()}`)
    .replaceAll('gen_random_uuid()', () => `'${randomUUID()}'`)
    .replaceAll(/\bselect from\b/g, 'select 1 from')
}
