import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { withDirectClient } from '../../../src/adapters/postgres/connection/direct-client.ts'
import { openPool } from '../../../src/adapters/postgres/connection/pool.ts'
import { postgresCustomers } from '../../../src/adapters/postgres/customers.ts'
import { serviceConditions } from '../../../src/adapters/postgres/diagnostics/service-conditions.ts'
import { migrate, pendingMigrations } from '../../../src/adapters/postgres/migrations.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { createTestDatabase, sqlOn, type TestDatabase } from '../../support/database.ts'
import { hasPgBouncer, openPgBouncer } from '../../support/pgbouncer.ts'
import { startApp } from '../../support/running-app.ts'
import { postgresAlone } from '../../support/sqlite.ts'

const SCHEMAS_OF_TABLES = `
  select distinct relnamespace::regnamespace::text as schema from pg_class
   where relname in ('customers', 'login_tokens', 'login_attempts', 'latchkey_migrations') order by 1`

describe('The schema of the tables', { skip: postgresAlone }, () => {
  it('is public on an empty database, also for a role that has a schema of its own name', async (t) => {
    const { database, role, url } = await emptyDatabase(t)
    await database.sql(
      `create schema ${role} authorization ${role}; grant create on schema public to ${role}`,
    )
    await migrate({ url })
    assert.deepEqual(await database.sql(SCHEMAS_OF_TABLES), [{ schema: 'public' }])
    assert.deepEqual(await pendingMigrations(database), [])
  })

  it('is the same for every role and every search_path, wherever the ledger was created', async (t) => {
    const { database, role, url } = await emptyDatabase(t)
    await database.sql(`
      create schema "Shop, and more";
      create table "Shop, and more".latchkey_migrations (
        id serial primary key, name varchar(255) not null, run_on timestamp not null)`)
    await migrate(database)
    assert.deepEqual(await database.sql(SCHEMAS_OF_TABLES), [{ schema: '"Shop, and more"' }])
    await database.sql(`grant usage on schema "Shop, and more" to ${role}`)
    await database.sql(`grant all on all tables in schema "Shop, and more" to ${role}`)
    await database.sql(`grant execute on all functions in schema "Shop, and more" to ${role}`)
    await database.sql(`alter role ${role} set search_path = ''`)
    assert.deepEqual(await pendingMigrations(database), [])
    assert.deepEqual(await pendingMigrations({ url }), [])
    const app = await startApp({
      database: { ...database, url, env: { DATABASE_URL: url } },
      env: { LOGIN_LIMIT_ACCOUNT: '10/15m' },
    })
    try {
      const { email } = await app.addCustomer()
      const token = await app.login(email)
      assert.equal((await app.call('/api/me', { token })).status, 200)
      assert.equal((await app.call('/api/logout', { token })).status, 200)
      assert.equal((await app.call('/readyz', { method: 'GET' })).status, 200)
    } finally {
      await app.close()
    }
  })

  it('is the search_path of a migration, with the temporary schema last', async (t) => {
    const { database } = await emptyDatabase(t)
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-migrations-'))
    t.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(
      join(folder, '0001_pinned.sql'),
      "create function pinned() returns text language sql set search_path from current as 'select 1::text'",
    )
    await migrate({ ...database, set: { folder, table: 'shop_migrations', owner: 'the shop' } })
    assert.deepEqual(await database.sql("select proconfig from pg_proc where proname = 'pinned'"), [
      { proconfig: ['search_path=public, pg_temp'] },
    ])
  })

  it('must be one: several are refused by name, and requests get 503', async (t) => {
    const { database } = await emptyDatabase(t)
    await migrate(database)
    const pool = openPool({ url: database.url, max: 1, prepared: true, onEvent: () => {} })
    t.after(() => pool.close())
    await database.sql('create schema copy; create table copy.latchkey_migrations (id int, name text)')
    const refusal = {
      name: 'DatabaseRefused',
      message:
        'The schemas copy, public of the database each contain a table latchkey_migrations: only one of them may.',
    }
    await assert.rejects(migrate(database), refusal)
    await assert.rejects(pendingMigrations(database), refusal)
    const find = () => postgresCustomers(pool).findByEmail('ana@example.com', 1000)
    await assert.rejects(
      find(),
      (error) => error instanceof Unavailable && (error.cause as Error).message === refusal.message,
    )
    await database.sql('drop schema copy cascade')
    assert.equal(await find(), null)
  })

  it('is not that of a ledger that a stranger created', async (t) => {
    const { database, role, url } = await emptyDatabase(t)
    await migrate(database)
    await database.sql(`create schema decoy authorization ${role}`)
    await sqlOn(
      url,
      'create table decoy.latchkey_migrations (); grant all on decoy.latchkey_migrations to public',
    )
    await sqlOn(url, 'create temporary table latchkey_migrations ()')
    const other = await createRole(t, database)
    const schema = await withDirectClient(other.url, async (client) => {
      const { rows } = await client.query("select current_setting('search_path') as path")
      return rows[0].path
    })
    assert.equal(schema, 'public, pg_temp')
  })

  it('is that of the ledger, which is moved by one statement if the tables are elsewhere', async (t) => {
    const { database } = await emptyDatabase(t)
    await migrate(database)
    await database.sql(
      'create schema app; alter table login_tokens set schema app; alter table customers set schema app',
    )
    let statement = ''
    await assert.rejects(pendingMigrations(database), (error: Error) => {
      assert.equal(error.name, 'DatabaseRefused')
      statement =
        /^The table login_tokens is in the schema app, .* Run as its owner: (.*)$/.exec(error.message)?.[1] ??
        ''
      return true
    })
    assert.equal(statement, 'alter table public.latchkey_migrations set schema app;')
    await database.sql(statement)
    assert.deepEqual(await pendingMigrations(database), [])
  })

  it('must be found by the role itself behind a transaction pooler, and doctor prints the statement', async (t) => {
    const { database, role, url } = await emptyDatabase(t)
    await migrate(database)
    await database.sql(
      `grant all on all tables in schema public to ${role};
       grant execute on all functions in schema public to ${role};
       alter role ${role} set search_path = ''`,
    )
    const problem = async (isPooled: boolean) =>
      (await serviceConditions(url, 10_000, isPooled)).find(({ state }) => state === 'failure')?.message
    assert.equal(await problem(false), undefined)
    const [, statement = ''] =
      /^Behind a transaction pooler .* Run: (.*;)$/.exec((await problem(true)) ?? '') ?? []
    await database.sql(statement)
    assert.equal(await problem(true), undefined)
  })

  it('is used through a transaction pooler', {
    skip: hasPgBouncer() ? false : 'pgbouncer is not on this machine',
  }, async (t) => {
    const { database } = await emptyDatabase(t)
    await migrate(database)
    const pooler = await openPgBouncer(database.url)
    t.after(() => pooler.close())
    const pool = openPool({ url: pooler.url, max: 2, prepared: false, onEvent: () => {} })
    t.after(() => pool.close())
    assert.equal(await postgresCustomers(pool).findByEmail('ana@example.com', 1000), null)
  })
})

async function emptyDatabase(t: TestContext) {
  const database = await createTestDatabase({ migrated: false })
  t.after(() => database.drop())
  return { database, ...(await createRole(t, database)) }
}

/** Creates a role without privileges; returns it and the URL with which it connects. */
async function createRole(t: TestContext, database: TestDatabase): Promise<{ role: string; url: string }> {
  const role = `test_${randomBytes(6).toString('hex')}`
  await database.sql(`create role ${role} login password 'secret'`)
  // After the database, whose objects depend on it.
  t.after(() => sqlOn(process.env.TEST_DATABASE_URL ?? '', `drop role ${role}`))
  const url = new URL(database.url)
  url.username = role
  url.password = 'secret'
  return { role, url: url.href }
}
