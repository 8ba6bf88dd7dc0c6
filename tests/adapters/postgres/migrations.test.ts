import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { openPool } from '../../../src/adapters/postgres/connection/pool.ts'
import { checkServer } from '../../../src/adapters/postgres/diagnostics/check-server.ts'
import { postgresReadiness } from '../../../src/adapters/postgres/diagnostics/readiness.ts'
import {
  knownMigrations,
  type MigrationSet,
  migrate,
  pendingMigrations,
} from '../../../src/adapters/postgres/migrations.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { rounds } from '../../support/rounds.ts'

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

  it('is rejected when it is too old, does not use UTF-8, or does not write to disk', async (t) => {
    const database = await emptyDatabase(t)
    // What a session reads instead of the settings that cannot be changed here.
    await database.sql('create schema fake')
    await database.sql(`alter database ${nameOf(database)} set search_path = fake, pg_catalog, public`)
    for (const [setting, value, message] of [
      ['server_version_num', '120022', 'PostgreSQL 12 is too old: 13 or newer is needed.'],
      ['server_encoding', 'SQL_ASCII', "The database's encoding is SQL_ASCII: UTF8 is needed."],
      ['fsync', 'off', 'The setting fsync is off: a crash would bring revoked tokens back. Set it to on.'],
    ] as const) {
      await database.sql(`
        create or replace function fake.current_setting(name text) returns text language sql
        as $$ select case name when '${setting}' then '${value}' else pg_catalog.current_setting(name) end $$`)
      const [role] = await database.sql('select rolsuper from pg_roles where rolname = current_user')
      if (setting === 'fsync' && !role?.rolsuper) {
        assert.equal((await checkServer(database)).length, 1)
      } else {
        await assert.rejects(checkServer(database), { name: 'DatabaseRefused', message })
      }
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
      await database.sql(`alter database ${nameOf(database)} set search_path = fake, pg_catalog, public`)
      const warnings = await checkServer(database)
      assert.equal(warnings.length, warning === null ? 0 : 1)
      if (warning !== null) assert.match(warnings[0] ?? '', warning)
    })
  }
})

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
