import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { readConfiguration } from '../../../src/adapters/config/read-configuration.ts'
import { pinoLog } from '../../../src/adapters/pino/log.ts'
import { withDirectClient } from '../../../src/adapters/postgres/connection/direct-client.ts'
import { openPool } from '../../../src/adapters/postgres/connection/pool.ts'
import { serverFaults } from '../../../src/adapters/postgres/connection/server-faults.ts'
import { checkServer } from '../../../src/adapters/postgres/diagnostics/check-server.ts'
import { postgresReadiness } from '../../../src/adapters/postgres/diagnostics/readiness.ts'
import { FIND_PROBLEMS } from '../../../src/adapters/postgres/diagnostics/service-checks.ts'
import {
  knownMigrations,
  LATCHKEY_MIGRATIONS,
  type MigrationSet,
} from '../../../src/adapters/postgres/migration-set.ts'
import { migrate, pendingMigrations } from '../../../src/adapters/postgres/migrations.ts'
import { readState } from '../../../src/adapters/postgres/pending-migrations.ts'
import { systemClock } from '../../../src/adapters/system-clock/clock.ts'
import { openPostgres } from '../../../src/composition/open-postgres.ts'
import { createTestDatabase, sqlOn, type TestDatabase } from '../../support/database.ts'
import { fencedBlocks } from '../../support/fenced-blocks.ts'
import { rounds } from '../../support/rounds.ts'
import { until } from '../../support/until.ts'

const APPLIED = 'select name from public.latchkey_migrations order by id'

describe('The migrations', () => {
  it('are all applied to an empty database, and none the second time', async (t) => {
    const database = await emptyDatabase(t)
    const known = await knownMigrations()
    assert.ok(known.length > 0)
    assert.deepEqual(await pendingMigrations(database), known)
    assert.deepEqual(await migrate(database), known)
    assert.deepEqual(await pendingMigrations(database), [])
    assert.deepEqual(await migrate(database), [])
  })

  // Public case 039, row H11
  it('are applied once when five services start at the same time', async (t) => {
    const count = rounds('H11', 3)
    for (let round = 0; round < count; round += 1) {
      const database = await emptyDatabase(t)
      const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(database)))
      await appliedOnce(database, applied)
    }
    t.diagnostic(`H11: ${count} rounds of 5 at once, each migration applied once`)
  })

  it('do not refuse the tables of another process that migrates meanwhile', async (t) => {
    const database = await emptyDatabase(t)
    await withDirectClient(database.url, async (client) => {
      const query = client.query.bind(client)
      const interposed = async (text: string, values?: unknown[]) => {
        // Between the look for the list of migrations and the look for tables.
        if (text.includes('login_tokens')) await migrate(database)
        return query(text, values)
      }
      Object.assign(client, { query: interposed })
      const { pending } = await readState(client, LATCHKEY_MIGRATIONS)
      assert.deepEqual(pending, await knownMigrations())
    })
    assert.deepEqual(await pendingMigrations(database), [])
  })

  it('let readers pass while they wait for a long transaction', async (t) => {
    const [database, set] = [await emptyDatabase(t), ownMigrations(t)]
    await migrate({ ...database, set })
    writeFileSync(join(set.folder, '0003_more.sql'), 'alter table books add column title text;')
    const { applied } = await withDirectClient(database.url, async (reader) => {
      await reader.query('begin')
      await reader.query('select from books')
      const applied = migrate({ ...database, set })
      await until(async () => (await database.sql('select from pg_locks where not granted')).length > 0)
      await withDirectClient(database.url, (second) => second.query('select from books'), 60_000)
      await reader.query('commit')
      return { applied }
    })
    assert.deepEqual(await applied, ['0003_more'])
  })

  // Public case 039, row H11
  it('are applied once by five processes, which print nothing else', async (t) => {
    const count = rounds('H11_PROCESSES', 1)
    const path = new URL('../../../src/adapters/postgres/migrations.ts', import.meta.url).href
    const code = `import { migrate } from '${path}'; console.log(JSON.stringify(await migrate({ url: process.env.URL })))`
    for (let round = 0; round < count; round += 1) {
      const database = await emptyDatabase(t)
      const outputs = await Promise.all(
        Array.from({ length: 5 }, () =>
          promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
            env: { ...process.env, URL: database.url },
          }),
        ),
      )
      for (const { stderr } of outputs) assert.equal(stderr, '')
      await appliedOnce(
        database,
        outputs.map(({ stdout }) => JSON.parse(stdout)),
      )
    }
    t.diagnostic(`H11: ${count} rounds of 5 processes, each migration applied once`)
  })

  it('reject a schema that is newer than the code in one sentence', async (t) => {
    const database = await emptyDatabase(t)
    await migrate(database)
    await addFutureMigration(database)
    const refusal = {
      name: 'DatabaseRefused',
      message: "The database's schema is newer than this version of Latchkey: it has 9999_future.",
    }
    await assert.rejects(migrate(database), refusal)
    await assert.rejects(pendingMigrations(database), refusal)
  })

  it('use the index that the upgrade guide creates before them', async (t) => {
    const database = await emptyDatabase(t)
    const known = await knownMigrations()
    const first = known.indexOf('0007_list_tokens_in_pages')
    await migrate({ ...database, upTo: first })
    await database.sql(fencedBlocks('docs/how-to/upgrade.md', 'sql')[0] ?? '')
    assert.deepEqual(await migrate(database), known.slice(first))
    const indexes = await database.sql<{ name: string }>(
      "select indexname as name from pg_indexes where tablename = 'login_tokens' and indexname like '%customer%'",
    )
    assert.deepEqual(indexes, [{ name: 'login_tokens_of_customer_idx' }])
  })

  it('use the column and the index that the file of sessions creates before them', async (t) => {
    const database = await emptyDatabase(t)
    const known = await knownMigrations()
    const first = known.indexOf('0009_sessions')
    await migrate({ ...database, upTo: first })
    await prepareFor(database, '0009_sessions')
    assert.deepEqual(await migrate(database), known.slice(first))
    const indexes = await database.sql<{ indexdef: string }>(
      "select indexdef from pg_indexes where indexname like 'login_tokens%log%' or indexname like '%slot%'",
    )
    assert.equal(indexes.length, 1)
    assert.match(
      indexes[0]?.indexdef ?? '',
      /UNIQUE INDEX login_tokens_one_login_key .*\(customer_id, slot\)/,
    )
  })

  it('build no index that the file of foreign tokens creates before them, and refuse an invalid one', async (t) => {
    const database = await emptyDatabase(t)
    const known = await knownMigrations()
    const first = known.indexOf('0010_foreign_tokens')
    await migrate({ ...database, upTo: first })
    await prepareFor(database, '0010_foreign_tokens')
    const index = () =>
      database.sql(
        "select oid::int, relfilenode::int from pg_class where oid = 'login_tokens_of_form_idx'::regclass",
      )
    const prepared = await index()
    // What is left of CREATE INDEX CONCURRENTLY when it is interrupted.
    const setValid = (isValid: boolean) =>
      database.sql(
        `update pg_index set indisvalid = ${isValid} where indexrelid = 'login_tokens_of_form_idx'::regclass`,
      )
    await setValid(false)
    await assert.rejects(
      migrate(database),
      /login_tokens_of_form_idx is invalid: drop it and create it again/,
    )
    await setValid(true)
    assert.deepEqual(await migrate(database), known.slice(first))
    assert.deepEqual(await index(), prepared)
    const [columns] = await database.sql(
      'select form, external_id from login_tokens union all select null, null',
    )
    assert.deepEqual(columns, { form: null, external_id: null })
  })

  it('grant new tables to the roles that use the earlier ones, without default privileges', async (t) => {
    const database = await emptyDatabase(t)
    const { role, url } = await createRole(t, database)
    await migrate({ ...database, upTo: (await knownMigrations()).indexOf('0005_secret_channel') })
    await database.sql(`
      grant select, update on customers to ${role};
      grant select, insert, update on login_tokens, login_attempts to ${role};
      grant select on latchkey_migrations to ${role}`)
    await migrate(database)
    assert.deepEqual(await sqlOn(url, FIND_PROBLEMS.text), [])
    await sqlOn(url, 'delete from one_time_tokens')
    await assert.rejects(sqlOn(url, 'delete from login_attempts_secret'), { code: '42501' })
  })

  it('of sessions let the version before log in: it ends all sessions and takes slot 1', async (t) => {
    const database = await emptyDatabase(t)
    await migrate(database)
    await database.sql(`
      insert into customers (id, email, created_at) values (gen_random_uuid(), 'ana@example.com', now());
      insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, slot)
        select gen_random_uuid(), customers.id, 'login', sha256(n::text::bytea), '{*}', now(), n
          from customers, generate_series(1, 3) as n`)
    const [replaced] = await database.sql(`
      with revoked as (
        update login_tokens set revoked_at = now()
         where customer_id = (select id from customers) and name = 'login' and revoked_at is null
         returning id),
      earlier as (select count(*)::int as count from revoked),
      inserted as (
        insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at, revoked_at)
        select gen_random_uuid(), customers.id, 'login', sha256('new'), '{*}', now(), null, null
          from earlier, customers)
      select count from earlier`)
    assert.equal(replaced?.count, 3)
    const live = await database.sql('select slot from login_tokens where revoked_at is null')
    assert.deepEqual(live, [{ slot: 1 }])
  })

  it('report in one line that the database cannot be reached', async () => {
    await assert.rejects(migrate({ url: 'postgres://x:secret@127.0.0.1:1/x' }), (error: Error) => {
      assert.equal(error.name, 'DatabaseUnreachable')
      assert.match(
        error.message,
        /^The database at 127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED[^\n]*\.$/,
      )
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
  })
})

describe('A migration that fails', () => {
  it('names the privilege that the role lacks, and the statement that grants it', async (t) => {
    const database = await emptyDatabase(t)
    const { role, url } = await createRole(t, database)
    await database.sql('revoke create on schema public from public')
    for (const set of [LATCHKEY_MIGRATIONS, ownMigrations(t)])
      await assert.rejects(migrate({ url, set }), {
        name: 'DatabaseRefused',
        message: `The role ${role} may not create tables in the schema public. Run as the owner of the schema: grant create on schema public to ${role};`,
      })
    await database.sql('revoke usage on schema public from public')
    await assert.rejects(pendingMigrations({ url }), {
      name: 'DatabaseRefused',
      message: new RegExp(`^The schema public does not exist, or the role ${role} may not use it\\. .*;$`),
    })
    await database.sql(`grant usage, create on schema public to ${role}`)
    assert.deepEqual(await migrate({ url }), await knownMigrations())
  })

  it('names the owner of the tables for a role that may only read the ledger, or not even that', async (t) => {
    const database = await emptyDatabase(t)
    const { role, url } = await createRole(t, database)
    await migrate(database)
    await assert.rejects(pendingMigrations({ url }), {
      name: 'DatabaseRefused',
      message: `The role ${role} may not read the table public.latchkey_migrations. Run as its owner: grant select on public.latchkey_migrations to ${role};`,
    })
    await database.sql(`grant select on latchkey_migrations to ${role}`)
    assert.deepEqual(await pendingMigrations({ url }), [])
    const last = (await knownMigrations()).at(-1)
    await database.sql('delete from latchkey_migrations where name = $1', [last])
    await assert.rejects(migrate({ url }), {
      name: 'DatabaseRefused',
      message: new RegExp(
        `^The role ${role} does not own the table public\\.latchkey_migrations\\. Run the command migrate as its owner, \\S+, and the service with MIGRATE=off\\.$`,
      ),
    })
  })

  it('says that a table is not that of Latchkey, and leaves nothing behind', async (t) => {
    for (const table of ['customers', 'login_tokens']) {
      const database = await emptyDatabase(t)
      await database.sql(`create table ${table} (id int)`)
      const refusal = {
        name: 'DatabaseRefused',
        message: `The schema public contains a table ${table} that is not Latchkey's. Set DATABASE_URL to another database, or rename the table.`,
      }
      await assert.rejects(migrate(database), refusal)
      await assert.rejects(pendingMigrations(database), refusal)
      assert.deepEqual(await relationsOf(database), [table])
    }
  })

  it('is named with its error in one line, and leaves no ledger if it was the first', async (t) => {
    const [database, set] = [await emptyDatabase(t), ownMigrations(t)]
    await database.sql('create table books (id int)')
    await assert.rejects(migrate({ ...database, set }), {
      name: 'DatabaseRefused',
      message: 'The migration 0002_books.sql of the shop failed: relation "books" already exists.',
    })
    assert.deepEqual(await pendingMigrations({ ...database, set }), ['0002_books'])
    await database.sql('drop table books')
    assert.deepEqual(await migrate({ ...database, set }), ['0002_books'])

    const other = await emptyDatabase(t)
    await other.sql('create table shelves (id int)')
    await assert.rejects(Promise.all(Array.from({ length: 3 }, () => migrate({ ...other, set }))), {
      message: 'The migration 0001_shelves.sql of the shop failed: relation "shelves" already exists.',
    })
    await until(async () => (await relationsOf(other)).join() === 'shelves')
  })
})

describe('The migrations of a custom program', () => {
  it('are applied once beside those of Latchkey, in any order, by five at the same time', async (t) => {
    const set = ownMigrations(t)
    for (const first of ['own', 'latchkey']) {
      const database = await emptyDatabase(t)
      if (first === 'latchkey') await migrate(database)
      assert.deepEqual(await pendingMigrations({ ...database, set }), ['0001_shelves', '0002_books'])
      const applied = await Promise.all(Array.from({ length: 5 }, () => migrate({ ...database, set })))
      assert.deepEqual(applied.flat(), ['0001_shelves', '0002_books'])
      if (first === 'own') assert.deepEqual(await migrate(database), await knownMigrations())
      assert.deepEqual(await pendingMigrations({ ...database, set }), [])
      assert.deepEqual(await pendingMigrations(database), [])
      await database.sql('select from books')
    }
  })

  it('reject a schema that is newer than the program and name it', async (t) => {
    const [database, set] = [await emptyDatabase(t), ownMigrations(t)]
    await migrate({ ...database, set })
    await database.sql(`insert into "Shop migrations" (name, run_on) values ('9999_future', now())`)
    await assert.rejects(migrate({ ...database, set }), {
      name: 'DatabaseRefused',
      message: "The database's schema is newer than this version of the shop: it has 9999_future.",
    })
  })
})

describe('Readiness', () => {
  it('needs a responding database with every migration that the code knows', async (t) => {
    const database = await emptyDatabase(t)
    const pool = openPool({ url: database.url, max: 2, prepared: true, onEvent: () => {} })
    const readiness = postgresReadiness(pool)
    assert.equal((await readiness.checkStatus(1000)).current, false)
    await migrate(database)
    assert.equal((await readiness.checkStatus(1000)).current, true)
    await addFutureMigration(database)
    assert.equal((await readiness.checkStatus(1000)).current, true)
    await database.sql("delete from public.latchkey_migrations where name <> '9999_future'")
    assert.equal((await readiness.checkStatus(1000)).current, false)
    await pool.close()
    assert.equal((await readiness.checkStatus(1000)).current, false)
  })
})

describe('A server (row H10)', () => {
  it('is accepted when its settings are right', async (t) => {
    assert.deepEqual(await checkServer(await emptyDatabase(t)), [])
  })

  it('is rejected when it acknowledges commits before they are durable', async (t) => {
    const database = await emptyDatabase(t)
    await database.sql(`alter database ${nameOf(database)} set synchronous_commit = off`)
    await assert.rejects(checkServer(database), {
      name: 'DatabaseRefused',
      message: /synchronous_commit is off/,
    })
  })

  it('is rejected through either address when it acknowledges commits before they are durable', async (t) => {
    const database = await emptyDatabase(t)
    const url = new URL(database.url)
    url.searchParams.set('options', '-c synchronous_commit=off')
    await assert.rejects(checkServer({ url: url.href }), { message: /synchronous_commit is off/ })
    const { configuration } = readConfiguration({
      env: { DATABASE_URL: url.href, DATABASE_DIRECT_URL: database.url },
      dotEnv: null,
    })
    const context = { configuration, log: pinoLog({ level: 'silent' }), clock: systemClock }
    await assert.rejects(openPostgres('command', context), { message: /synchronous_commit is off/ })
  })

  it('is rejected when it is too old, does not use UTF-8, or does not write to disk', async (t) => {
    const database = await emptyDatabase(t)
    await database.sql('create schema fake')
    for (const [setting, value, message] of [
      ['server_version_num', '120022', 'PostgreSQL 12 is too old: 13 or newer is needed.'],
      ['server_encoding', 'SQL_ASCII', "The database's encoding is SQL_ASCII: UTF8 is needed."],
      ['fsync', 'off', /^The setting fsync is off: a crash would bring revoked tokens back\./],
    ] as const) {
      await database.sql(`
        create or replace function fake.current_setting(name text) returns text language sql
        as $$ select case name when '${setting}' then '${value}' else pg_catalog.current_setting(name) end $$`)
      const faults = await faultsWithFakes(database)
      assert.equal(faults.length, 1)
      if (typeof message === 'string') assert.equal(faults[0], message)
      else assert.match(faults[0] ?? '', message)
    }
  })
})

describe('The check of standbys (row H8)', () => {
  for (const [name, { names, commit, walsender }, warning] of [
    ['a standby that commits wait for', { names: 'ANY 1 (a, b)', commit: 'on', walsender: 1 }, null],
    [
      'a standby that no commit waits for',
      { names: '', commit: 'on', walsender: 1 },
      /^A standby follows, and no/,
    ],
    [
      'a standby that no session waits for',
      { names: '*', commit: 'local', walsender: 1 },
      /^The setting .* is local/,
    ],
    ['a server without a standby', { names: '', commit: 'local', walsender: 0 }, null],
    // A logical replication target holds other data and takes over from no server.
    ['a subscriber', { names: '', commit: 'on', walsender: 2 }, null],
  ] as const) {
    it(`causes ${warning === null ? 'no' : 'a'} warning for ${name}`, async (t) => {
      const database = await emptyDatabase(t)
      // What a session sees of a server with others beside it.
      await database.sql(`
        create schema fake;
        create view fake.pg_stat_replication as select pid from generate_series(1, 2) as pid where pid = ${walsender};
        create view fake.pg_replication_slots as
          select 'logical' as slot_type, 2 as active_pid union all select 'logical', null union all select 'physical', 1;
        create function fake.current_setting(name text) returns text language sql as $$
          select case name when 'synchronous_standby_names' then '${names}' else pg_catalog.current_setting(name) end $$;
        alter database ${nameOf(database)} set synchronous_commit = ${commit}`)
      const warnings = await faultsWithFakes(database)
      assert.equal(warnings.length, warning === null ? 0 : 1)
      if (warning !== null) assert.match(warnings[0] ?? '', warning)
    })
  }
})

/** Returns the faults that a session finds which sees the functions and views of the schema `fake` first. */
async function faultsWithFakes({ url }: TestDatabase): Promise<readonly string[]> {
  return withDirectClient(url, async (client) => {
    await client.query('set search_path = fake, pg_catalog, public')
    return (await serverFaults(client)).map(({ sentence }) => sentence)
  })
}

async function relationsOf(database: TestDatabase): Promise<readonly string[]> {
  const rows = await database.sql<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind <> 'i' order by 1",
  )
  return rows.map(({ name }) => name)
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

/** Runs the statements at the head of a migration's file. */
async function prepareFor(database: TestDatabase, migration: string): Promise<void> {
  const file = readFileSync(join(LATCHKEY_MIGRATIONS.folder, `${migration}.sql`), 'utf8')
  const statements = [...file.matchAll(/^-- {3}(.*)$/gm)].map(([, line]) => line).join(' ')
  for (const statement of statements.split(';').filter((text) => text.trim() !== ''))
    await database.sql(statement)
}

async function emptyDatabase(t: TestContext): Promise<TestDatabase> {
  const database = await createTestDatabase({ migrated: false })
  t.after(() => database.drop())
  return database
}

function ownMigrations(t: TestContext): MigrationSet {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-migrations-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, '0001_shelves.sql'), 'create table shelves (id int primary key);')
  writeFileSync(join(folder, '0002_books.sql'), 'create table books (shelf int references shelves);')
  return { folder, table: 'Shop migrations', owner: 'the shop' }
}

async function appliedOnce(database: TestDatabase, applied: readonly (readonly string[])[]): Promise<void> {
  const known = await knownMigrations()
  assert.deepEqual(applied.flat(), known)
  assert.deepEqual(
    (await database.sql(APPLIED)).map(({ name }) => name),
    known,
  )
}

async function addFutureMigration(database: TestDatabase): Promise<void> {
  await database.sql("insert into public.latchkey_migrations (name, run_on) values ('9999_future', now())")
}

function nameOf(database: TestDatabase): string {
  return new URL(database.url).pathname.slice(1)
}
