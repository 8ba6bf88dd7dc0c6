import { randomBytes } from 'node:crypto'
import { Client, type QueryResultRow } from 'pg'
import { migrate } from '../../src/adapters/postgres/migrations.ts'
import { createSqliteDatabase, onSqlite } from './sqlite.ts'

/** The database of one test file, on the server of this run. */
export interface TestDatabase {
  readonly url: string
  /** The settings with which a service uses it. */
  readonly env: Readonly<Record<string, string>>
  /** Runs a statement on a separate connection. */
  sql<Row extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>
  /** Terminates all connections to it and drops it. */
  drop(): Promise<void>
}

/** The prefix of every test database of this run. */
export function testDatabasePrefix(env: NodeJS.ProcessEnv = process.env): string {
  return `latchkey_test_${env.TEST_RUN_ID ?? 'alone'}_`
}

/** The number of migrations of a new database, as a rolling upgrade leaves it that has applied only these. Default: all. */
const UP_TO = Number(process.env.TEST_MIGRATIONS ?? Number.POSITIVE_INFINITY)

/** Creates a database with the newest schema, or an empty one with `migrated: false`. */
export async function createTestDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  if (onSqlite) return createSqliteDatabase({ migrated })
  const serverUrl = process.env.TEST_DATABASE_URL
  if (!serverUrl) {
    throw new Error(
      'This test needs a database: run it through `npm test -- <file>`, or set TEST_DATABASE_URL.',
    )
  }
  const name = `${testDatabasePrefix()}${randomBytes(6).toString('hex')}`
  await sqlOn(serverUrl, `create database ${name} template template0 encoding 'UTF8'`)
  const url = withDatabase(serverUrl, name)
  if (migrated) await migrate({ url, upTo: UP_TO })
  return {
    url,
    env: { DATABASE_URL: url },
    sql: (text, values) => sqlOn(url, text, values),
    drop: () => dropDatabase(serverUrl, name),
  }
}

/** Drops the test databases of this run that a crashed test has left on the server. */
export async function dropTestDatabases(serverUrl: string, prefix: string): Promise<void> {
  const rows = await sqlOn<{ datname: string }>(
    serverUrl,
    'select datname from pg_database where starts_with(datname, $1)',
    [prefix],
  )
  for (const { datname } of rows) await dropDatabase(serverUrl, datname)
}

/** After this time a statement that does not end fails, in milliseconds. */
const STATEMENT_LIMIT_MS = 300_000

async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await sqlOn(serverUrl, `drop database if exists ${name} with (force)`)
}

/** Runs one statement on a separate connection. */
export async function sqlOn<Row extends QueryResultRow>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: STATEMENT_LIMIT_MS,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(text, [...values])).rows
  } finally {
    await client.end()
  }
}

/** Runs one statement in a transaction that stays open until it is released. */
export async function holdTransaction(
  url: string,
  text: string,
  values: readonly unknown[],
): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  await client.query('begin')
  await client.query(text, [...values])
  return () => client.end()
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
