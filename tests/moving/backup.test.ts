import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { loadBackup } from '../../src/adapters/postgres/backup/restore-backup.ts'
import { LATCHKEY_MIGRATIONS } from '../../src/adapters/postgres/migration-set.ts'
import { migrate } from '../../src/adapters/postgres/migrations.ts'
import { createTestDatabase, holdTransaction, type TestDatabase } from '../support/database.ts'
import { ownProject } from '../support/own-program.ts'
import { startApp } from '../support/running-app.ts'
import { runLatchkey, startLatchkey, startProcess, temporaryFolder } from '../support/running-process.ts'
import { openSmallDisk } from '../support/small-disk.ts'
import { until } from '../support/until.ts'
import { fill, fingerprint, isLong, latchkeyOn, load, newFile } from './support.ts'

const CUSTOMERS = 2_000
const KILLS = isLong ? 20 : 5

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let source: TestDatabase
before(async () => {
  folder = await temporaryFolder()
  source = await createTestDatabase()
  await fill(source.url, CUSTOMERS)
})
after(async () => {
  await source.drop()
  folder.remove()
})

const state = (database: TestDatabase) => fingerprint(database.sql)
const rows = (text: string) => text.split(',').slice(0, 4).join()

async function backUp(): Promise<string> {
  const file = newFile(folder.path)
  const { code, stderr } = await latchkeyOn(source, folder.path)('backup', file)
  assert.deepEqual([code, stderr], [0, ''])
  return file
}

async function target(
  t: { after(work: () => Promise<void>): void },
  migrated = false,
): Promise<TestDatabase> {
  const database = await createTestDatabase({ migrated })
  t.after(() => database.drop())
  return database
}

describe('a backup', () => {
  test('restores every row into an empty database, in a file that only its owner can read', async (t) => {
    const file = newFile(folder.path)
    const written = await latchkeyOn(source, folder.path)('backup', file, '--json')
    assert.equal(written.code, 0, written.stderr)
    const report = JSON.parse(written.stdout)
    assert.equal(report.bytes, statSync(file).size)
    assert.equal(
      report.tables.find(({ table }: { table: string }) => table === 'login_tokens').rows,
      CUSTOMERS * 10,
    )
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const empty = await target(t)
    const restored = await latchkeyOn(empty, folder.path)('restore', file)
    assert.deepEqual([restored.code, restored.stderr], [0, ''])
    assert.match(restored.stdout, /^Restored \d+ rows of \d+ tables, as of 20/)
    assert.equal(rows(await state(empty)), rows(await state(source)))
    t.diagnostic(
      `${report.bytes} bytes, written in ${Math.round(written.ms)} ms, restored in ${Math.round(restored.ms)} ms`,
    )
  })

  test('contains no name of the secret channel, and a restored database has a new one', async (t) => {
    const file = await backUp()
    const channel = async (database: TestDatabase) =>
      (await database.sql<{ name: string }>('select name from latchkey_channel'))[0]?.name ?? ''
    const before = await channel(source)
    assert.ok(!readFileSync(file, 'utf8').includes(before))
    const filled = await target(t, true)
    const earlier = await channel(filled)
    await load(filled.url, file)
    assert.notEqual(await channel(filled), earlier)
    assert.match(await channel(filled), /^latchkey_[0-9a-f]{32}$/)
  })

  test('is the same snapshot in all tables while others write', async (t) => {
    const busy = await target(t, true)
    await fill(busy.url, 200)
    let isWriting = true
    const writing = (async () => {
      for (let n = 1000; isWriting; n++) {
        const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
        await busy.sql(
          `with added as (insert into customers (id, email, created_at) values ('${id}', 'w${n}@example.com', now()) returning id)
           insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
           select gen_random_uuid(), '${id}', 'bot', sha256('w${n}'), '{}', now()`,
        )
      }
    })()
    for (let round = 0; round < 3; round++) {
      const file = newFile(folder.path)
      const { code, stderr } = await latchkeyOn(busy, folder.path)('backup', file)
      assert.deepEqual([code, stderr], [0, ''])
      const copy = await target(t)
      // The foreign key refuses a token without its customer.
      await load(copy.url, file)
      const [counts] = await copy.sql(
        `select (select count(*) from customers where email like 'w%')::int as customers,
                (select count(*) from login_tokens where name = 'bot')::int as tokens`,
      )
      assert.equal(counts?.customers, counts?.tokens)
    }
    isWriting = false
    await writing
  })

  test('goes to standard output, to be encrypted by another program', async (t) => {
    const { code, stdout, stderr } = await latchkeyOn(source, folder.path)('backup', '-')
    assert.equal(code, 0)
    assert.match(stderr, /^latchkey: Wrote \d+ rows/)
    const file = newFile(folder.path)
    writeFileSync(file, stdout)
    const empty = await target(t)
    await load(empty.url, file)
    assert.equal(rows(await state(empty)), rows(await state(source)))
  })

  test('can be loaded by psql alone', { skip: hasPsql() ? false : 'psql is not installed' }, async (t) => {
    const file = await backUp()
    const migrated = await target(t, true)
    // A psql that is older than the server knows not every parameter of the address.
    const url = migrated.url.replace('&sslnegotiation=postgres', '')
    execFileSync('psql', ['-q', '-v', 'ON_ERROR_STOP=1', '-f', file, url], { stdio: 'pipe' })
    assert.equal(rows(await state(migrated)), rows(await state(source)))
  })

  test('does not overwrite a file, and leaves no part of a file behind', async () => {
    const file = await backUp()
    const { code, stderr } = await latchkeyOn(source, folder.path)('backup', file)
    assert.deepEqual([code, stderr], [1, `latchkey: ${file} exists. Give the name of a new file.\n`])
    const absent = await latchkeyOn(source, folder.path)('backup', join(folder.path, 'no', 'file'))
    assert.equal(absent.code, 1)
    assert.match(absent.stderr, /cannot be written \(ENOENT\)/)
    assert.deepEqual(
      readdirSync(folder.path).filter((name) => name.endsWith('.partial')),
      [],
    )
  })

  test('reports a full disk in one line, and leaves nothing there', async (t) => {
    const { path, remove } = await temporaryFolder()
    let close = () => {}
    t.after(() => {
      close()
      remove()
    })
    const disk = openSmallDisk(path, 1)
    if (typeof disk === 'string') return t.skip(disk)
    close = disk.close
    disk.fill('full')
    const { code, stderr } = await latchkeyOn(source, path)('backup', join(disk.path, 'b.sql'))
    assert.equal(code, 1)
    assert.match(stderr, /^latchkey: .*b\.sql cannot be written \(ENOSPC\)\.\n$/)
    assert.deepEqual(readdirSync(disk.path), ['full'])
  })

  test('refuses tables of no migration by name, unless each is skipped', async (t) => {
    const shared = await target(t, true)
    await shared.sql('create schema site; create table site.pages (id int); create table visits (id int)')
    const refused = await latchkeyOn(shared, folder.path)('backup', newFile(folder.path))
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /No migration of this program creates visits, site\.pages, .*--skip visits --skip site\.pages\n$/,
    )
    const file = newFile(folder.path)
    const written = await latchkeyOn(shared, folder.path)(
      'backup',
      file,
      '--skip',
      'visits',
      '--skip',
      'site.*',
    )
    assert.deepEqual([written.code, written.stderr], [0, ''])
    assert.doesNotMatch(readFileSync(file, 'utf8'), /"(visits|pages)"/)
  })

  test('needs a database with a schema', async (t) => {
    const empty = await target(t)
    const { code, stderr } = await latchkeyOn(empty, folder.path)('backup', newFile(folder.path))
    assert.deepEqual(
      [code, stderr],
      [1, 'latchkey: The database has no schema of Latchkey yet: there is nothing to back up.\n'],
    )
  })
})

describe('a restore', () => {
  test('asks before it replaces rows, and needs --yes without a terminal', async (t) => {
    const file = await backUp()
    const filled = await target(t, true)
    await fill(filled.url, 3)
    const before = await state(filled)
    const refused = await latchkeyOn(filled, folder.path)('restore', file)
    assert.deepEqual(
      [refused.code, refused.stderr],
      [1, 'latchkey: The database is not empty. Add --yes to replace its data. Nothing was changed.\n'],
    )
    assert.equal(await state(filled), before)
    const restored = await latchkeyOn(filled, folder.path)('restore', file, '--yes', '--json')
    assert.equal(restored.code, 0, restored.stderr)
    assert.deepEqual(Object.keys(JSON.parse(restored.stdout)), ['created_at', 'tables'])
    assert.equal(rows(await state(filled)), rows(await state(source)))
  })

  test('refuses 100 damaged files before it touches anything', async (t) => {
    const small = await target(t, true)
    await fill(small.url, 50)
    const file = newFile(folder.path)
    assert.equal((await latchkeyOn(small, folder.path)('backup', file)).code, 0)
    const filled = await target(t, true)
    await fill(filled.url, 3)
    const before = await state(filled)
    const whole = readFileSync(file)
    const damaged = newFile(folder.path)
    for (let n = 0; n < 100; n++) {
      const bytes = Buffer.from(whole)
      const at = Math.floor((n / 100) * whole.length)
      if (n % 4 === 3) writeFileSync(damaged, bytes.subarray(0, at))
      else {
        bytes[at] = (bytes[at] as number) ^ (1 << (n % 8))
        writeFileSync(damaged, bytes)
      }
      await assert.rejects(load(filled.url, damaged), /damaged|not a backup|of the format/, `file ${n}`)
    }
    for (const last of [1, 2, 40, 70, 75]) {
      const bytes = Buffer.from(whole)
      const at = whole.length - last
      bytes[at] = (bytes[at] as number) ^ 0x20
      writeFileSync(damaged, bytes)
      await assert.rejects(load(filled.url, damaged), /damaged/, `byte ${last} from the end`)
    }
    writeFileSync(damaged, Buffer.concat([whole, Buffer.from('\n')]))
    await assert.rejects(load(filled.url, damaged), /damaged/)
    const { code, stderr } = await latchkeyOn(filled, folder.path)('restore', damaged, '--yes')
    assert.equal(code, 1)
    assert.match(stderr, /^latchkey: The file is damaged or incomplete: its checksum does not match/)
    assert.equal(await state(filled), before)
  })

  test('changes nothing when the file becomes another one while it is loaded', async (t) => {
    const filled = await target(t, true)
    await fill(filled.url, 3)
    const before = await state(filled)
    const whole = readFileSync(await backUp())
    const tampered = Buffer.from(whole)
    const at = whole.length - 2000
    tampered[at] = (tampered[at] as number) ^ 1
    let reads = 0
    const read = async function* () {
      reads += 1
      yield reads < 2 ? whole : tampered
    }
    await assert.rejects(
      loadBackup(filled.url, [LATCHKEY_MIGRATIONS], { read, confirm: async () => {} }),
      /damaged|could not be loaded/,
    )
    assert.equal(reads, 2)
    assert.equal(await state(filled), before)
  })

  test('of a killed process leaves the old rows, or all new ones, and can be repeated', async (t) => {
    const file = await backUp()
    const filled = await target(t, true)
    await fill(filled.url, 3)
    const before = rows(await state(filled))
    const after = rows(await state(source))
    const { ms } = await latchkeyOn(await target(t), folder.path)('restore', file)
    for (let n = 1; n <= KILLS; n++) {
      const restore = startLatchkey(['restore', file, '--yes'], { cwd: folder.path, env: { ...filled.env } })
      const timer = setTimeout(() => restore.child.kill('SIGKILL'), (ms * n) / KILLS)
      await restore.ended
      clearTimeout(timer)
      assert.ok([before, after].includes(rows(await state(filled))), `kill ${n}`)
    }
    const { code } = await latchkeyOn(filled, folder.path)('restore', file, '--yes')
    assert.equal(code, 0)
    assert.equal(rows(await state(filled)), after)
  })

  test('of a backup whose process was killed finds a whole file, or none', async () => {
    const whole = newFile(folder.path)
    const { ms } = await latchkeyOn(source, folder.path)('backup', whole)
    for (let n = 1; n <= KILLS; n++) {
      const file = newFile(folder.path)
      const backup = startLatchkey(['backup', file], { cwd: folder.path, env: { ...source.env } })
      const timer = setTimeout(() => backup.child.kill('SIGKILL'), (ms * n) / KILLS)
      await backup.ended
      clearTimeout(timer)
      if (existsSync(file)) assert.equal(statSync(file).size, statSync(whole).size, `kill ${n}`)
    }
  })

  test('makes running instances reject every token that the backup does not have', async (t) => {
    const app = await startApp()
    t.after(() => app.close())
    const second = await startApp({ database: app.database })
    t.after(() => second.close())
    const earlier = await app.addToken(await app.addCustomer({ email: 'earlier@example.com' }))
    const file = newFile(folder.path)
    assert.equal((await latchkeyOn(app.database, folder.path)('backup', file)).code, 0)
    const later = await app.addToken(await app.addCustomer({ email: 'later@example.com' }))
    const me = async (at: typeof app, token: string) => (await at.call('/api/me', { token, body: {} })).status
    for (const at of [app, second])
      for (const token of [earlier, later]) for (let n = 0; n < 3; n++) assert.equal(await me(at, token), 200)
    let hasEnded = false
    const restoring = latchkeyOn(app.database, folder.path)('restore', file, '--yes').finally(() => {
      hasEnded = true
    })
    // Requests during the restore, so that lookups are in flight at its commit.
    while (!hasEnded)
      for (const at of [app, second]) assert.ok([200, 401, 429, 503].includes(await me(at, later)))
    assert.equal((await restoring).code, 0)
    for (const at of [app, second])
      for (let n = 0; n < 20; n++) {
        // 429 after many rejected tokens of one address.
        assert.ok([401, 429].includes(await me(at, later)))
        const status = await me(at, earlier)
        assert.equal(status, 200)
      }
  })

  test('of an older schema brings an empty database to the schema of the backup first', async (t) => {
    const old = await target(t)
    await migrate({ url: old.url, upTo: 9 })
    await fill(old.url, 20)
    const file = newFile(folder.path)
    assert.equal((await latchkeyOn(old, folder.path)('backup', file)).code, 0)
    const empty = await target(t)
    assert.equal((await latchkeyOn(empty, folder.path)('restore', file)).code, 0)
    const [count] = await empty.sql(
      'select count(*)::int as tokens, count(form)::int as forms from login_tokens',
    )
    assert.deepEqual(count, { tokens: 200, forms: 0 })
    const current = await target(t, true)
    const refused = await latchkeyOn(current, folder.path)('restore', file)
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /newer than the backup, which lacks .*0011_one_time_tokens of Latchkey\. Restore it into a new database/,
    )
  })

  test('leaves no one-time token usable, and counts only the rows that it loaded', async (t) => {
    const origin = await target(t, true)
    await fill(origin.url, 3)
    const issue = (database: TestDatabase, purpose: string) =>
      database.sql(
        `insert into one_time_tokens select id, $1, sha256((id || $1)::bytea), now() + interval '1 hour' from customers`,
        [purpose],
      )
    await issue(origin, 'password-reset')
    await issue(origin, 'email')
    const file = newFile(folder.path)
    const written = await latchkeyOn(origin, folder.path)('backup', file, '--json')
    const countsOf = ({ stdout }: { readonly stdout: string }) =>
      Object.fromEntries(
        JSON.parse(stdout).tables.map(({ table, rows }: { table: string; rows: number }) => [table, rows]),
      )
    assert.equal(countsOf(written).one_time_tokens, 6)

    const filled = await target(t, true)
    await fill(filled.url, 2)
    await issue(filled, 'password-reset')
    for (const database of [filled, await target(t)]) {
      const restored = await latchkeyOn(database, folder.path)('restore', file, '--yes', '--json')
      assert.deepEqual([restored.code, restored.stderr], [0, ''])
      assert.deepEqual(countsOf(restored), { ...countsOf(written), one_time_tokens: 0 })
      for (const [table, rows] of Object.entries(countsOf(restored)))
        assert.deepEqual(await database.sql(`select count(*)::int as rows from ${table}`), [{ rows }], table)
    }
    const { stdout } = await latchkeyOn(filled, folder.path)('restore', file, '--yes')
    assert.match(stdout, /^Restored 34 rows of 5 tables/)
  })

  test('can load one-time tokens for a copy that is compared, as upgrade-data makes one', async (t) => {
    const origin = await target(t, true)
    await fill(origin.url, 3)
    await origin.sql(
      "insert into one_time_tokens select id, 'email', sha256(id::text::bytea), now() + interval '1 hour' from customers",
    )
    const file = newFile(folder.path)
    assert.equal((await latchkeyOn(origin, folder.path)('backup', file)).code, 0)
    const copy = await target(t)
    const { tables } = await loadBackup(copy.url, [LATCHKEY_MIGRATIONS], {
      read: () => createReadStream(file),
      confirm: async () => {},
      keepsOneTimeTokens: true,
    })
    assert.equal(tables.find(({ table }) => table === 'one_time_tokens')?.rows, 3)
    assert.equal(rows(await state(copy)), rows(await state(origin)))
  })

  for (const [fault, endOf] of [
    ['is cancelled', 'pg_cancel_backend'],
    ['loses its connection', 'pg_terminate_backend'],
  ] as const)
    test(`is complete when only the ANALYZE after its commit ${fault}`, async (t) => {
      const file = await backUp()
      const filled = await target(t, true)
      await fill(filled.url, 3)
      const blocker = new Client({ connectionString: filled.url })
      await blocker.connect()
      let locked: Promise<unknown> | undefined
      let reads = 0
      const waiting = async (query: string) =>
        (
          await filled.sql<{ pid: number }>(
            "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ilike $1",
            [`${query}%`],
          )
        )[0]?.pid
      const read = async function* () {
        reads += 1
        for await (const chunk of createReadStream(file)) {
          yield chunk
          if (reads < 2 || locked !== undefined) continue
          // It waits for the lock of TRUNCATE, and ANALYZE waits for it.
          await blocker.query('begin')
          locked = blocker.query('lock table login_tokens in share update exclusive mode')
          await until(async () => (await waiting('lock table')) !== undefined)
        }
      }
      const restoring = loadBackup(filled.url, [LATCHKEY_MIGRATIONS], { read, confirm: async () => {} })
      let pid: number | undefined
      await until(async () => {
        pid = await waiting('analyze')
        return pid !== undefined
      })
      await filled.sql(`select ${endOf}($1::int)`, [pid])
      const { tables } = await restoring
      await locked
      await blocker.end()
      assert.equal(tables.find(({ table }) => table === 'login_tokens')?.rows, CUSTOMERS * 10)
      assert.equal(rows(await state(filled)), rows(await state(source)))
    })

  test('waits for no lock forever', async (t) => {
    const file = await backUp()
    const filled = await target(t, true)
    await fill(filled.url, 3)
    const before = await state(filled)
    const release = await holdTransaction(filled.url, 'select from customers for share', [])
    t.after(release)
    const { code, stderr } = await latchkeyOn(filled, folder.path)('restore', file, '--yes')
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^latchkey: The backup could not be loaded: .*lock timeout.*The database is unchanged\.\n$/,
    )
    assert.equal(await state(filled), before)
  })
})

describe("an implementer's program", () => {
  const PROGRAM = `
    import { postgresDatabase, runProgram } from 'latchkey'
    await runProgram({ version: '1.0.0', routes: () => [], database: postgresDatabase({ migrations: [
      { folder: new URL('./sql', import.meta.url).pathname, table: 'shop_migrations', owner: 'the shop' }] }) })`
  const SQL = `
    create table "Orders" (id bigint generated always as identity primary key, customer_id uuid references customers,
      cents int not null, vat int generated always as (cents / 5) stored, note text default 'untouched');
    create table order_lines (order_id bigint references "Orders", sku text);
    create table visits (at timestamptz not null, path text) partition by range (at);
    create table visits_2030 partition of visits for values from ('2030-01-01') to ('2031-01-01');
    create function mark() returns trigger language plpgsql as $$ begin new.note := 'changed by a trigger'; return new; end $$;
    create trigger mark before insert on "Orders" for each row execute function mark();`

  test('backs up its own tables, sequences and partitions, and restores them without firing triggers', async (t) => {
    const project = await ownProject({ 'main.ts': PROGRAM, 'sql/0001_orders.sql': SQL })
    t.after(project.remove)
    const run = async (database: TestDatabase, ...args: string[]) => {
      const env = { ...database.env }
      const done = await startProcess(process.execPath, ['--import', 'tsx', 'main.ts', ...args], {
        cwd: project.path,
        env,
      }).ended
      assert.deepEqual([done.code, done.stderr], [0, ''])
      return done
    }
    const shop = await target(t)
    await run(shop, 'migrate')
    await fill(shop.url, 3)
    await shop.sql(
      `insert into "Orders" (customer_id, cents) select id, 500 from customers;
       update "Orders" set note = 'as it was'; insert into order_lines values (1, E'a\\\\.'), (2, E'\\n\\\\.\\n'), (3, null);
       insert into visits values ('2030-05-05', '/')`,
    )
    const file = newFile(project.path)
    await run(shop, 'backup', file)
    const copy = await target(t)
    await run(copy, 'restore', file)
    for (const table of ['"Orders"', 'order_lines', 'visits'])
      assert.deepEqual(
        await copy.sql(`select * from ${table} order by 1`),
        await shop.sql(`select * from ${table} order by 1`),
      )
    const [next] = await copy.sql(`insert into "Orders" (cents) values (1) returning id::int, note`)
    assert.deepEqual(next, { id: 4, note: 'changed by a trigger' })
    // The program without these tables names what it would lose.
    const refused = await latchkeyOn(shop, folder.path)('backup', newFile(folder.path))
    assert.match(
      refused.stderr,
      /No migration of this program creates Orders, order_lines, shop_migrations, visits,/,
    )
    const foreign = await latchkeyOn(await target(t), folder.path)('restore', file)
    assert.match(foreign.stderr, /The backup has tables of the shop, which this program does not have/)
  })
})

describe('the embedded database', () => {
  test('is backed up while its service runs and when it is stopped, and moves to a server and back', async (t) => {
    const { path, remove } = await temporaryFolder()
    t.after(remove)
    const env = { PORT: '0', NODE_ENV: 'production', COMMON_PASSWORDS: 'accepted' }
    const on = (...args: string[]) => runLatchkey(args, { cwd: path, env })
    const service = startLatchkey(['serve'], { cwd: path, env })
    await service.until(/http:\/\/127\.0\.0\.1/)
    const added = await runLatchkey(['customer', 'add', 'ana@example.com', '--password-stdin'], {
      cwd: path,
      env,
      input: 'correct horse 9\n',
    })
    assert.equal(added.code, 0, added.stderr)
    assert.equal((await on('backup', 'running.sql')).code, 0)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
    assert.equal((await on('backup', 'stopped.sql')).code, 0)
    const server = await target(t)
    assert.equal((await latchkeyOn(server, path)('restore', 'stopped.sql')).code, 0)
    assert.deepEqual(await server.sql('select email from customers'), [{ email: 'ana@example.com' }])
    assert.equal((await latchkeyOn(server, path)('backup', 'server.sql')).code, 0)
    mkdirSync(join(path, 'back'))
    copyFileSync(join(path, 'server.sql'), join(path, 'back', 'server.sql'))
    const back = await runLatchkey(['restore', 'server.sql'], { cwd: join(path, 'back'), env })
    assert.deepEqual([back.code, back.stderr], [0, ''])
    const shown = await runLatchkey(['customer', 'list', '--json'], { cwd: join(path, 'back'), env })
    assert.equal(JSON.parse(shown.stdout).customers[0].email, 'ana@example.com')
  })
})

function hasPsql(): boolean {
  try {
    execFileSync('psql', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
