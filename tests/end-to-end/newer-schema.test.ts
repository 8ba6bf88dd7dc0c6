import assert from 'node:assert/strict'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createProgram } from '../../src/adapters/cli/program.ts'
import { LATCHKEY_MIGRATIONS } from '../../src/adapters/postgres/migration-set.ts'
import { migrate } from '../../src/adapters/postgres/migrations.ts'
import { makeCommandLine } from '../adapters/cli/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { HASH } from '../support/program-suite.ts'
import { PASSWORD, SERVICE_SECRET, startApp } from '../support/running-app.ts'
import { runLatchkey, startLatchkey, temporaryFolder } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

const NEXT = '9000_next_version'
/** What the next version may do to a schema that this version uses: it adds, and replaces an index and a function. */
const EXPANSION = `
alter table customers add column phone text, add column locale text not null default 'en';
alter table login_tokens add column place smallint not null default 1;
create unique index login_tokens_place_key on login_tokens (customer_id, slot, place) where name = 'login' and revoked_at is null;
drop index login_tokens_one_login_key;
create table devices (id uuid primary key, customer_id uuid not null references customers on delete cascade);
create or replace function latchkey_publish_updated_tokens() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  -- The same, with a comment.
  perform latchkey_publish('digests', array(
    select encode(was.token_hash, 'hex')
      from was left join became using (id)
     where latchkey_is_token_changed(was, became)
     limit 101));
  return null;
end
$$;`

/** Every command with what it prints on a database with the customers ana, ben and cem. Run in this order. */
const COMMANDS: readonly (readonly [words: string, output: RegExp, input?: string])[] = [
  ['migrate', /The schema is current\./],
  ['migrate --check', /The schema is current\./],
  ['customer add dia@example.com --password-stdin', /Added dia@example\.com\./, `${PASSWORD}\n`],
  ['customer import more.csv', /Imported: 1/],
  ['customer list', /dia@example\.com/],
  ['customer show ana@example.com', /ana@example\.com/],
  [
    'customer password ben@example.com --password-stdin',
    /Set the password of ben@example\.com/,
    `${PASSWORD}\n`,
  ],
  ['customer disable ben@example.com', /Disabled ben@example\.com/],
  ['customer enable ben@example.com', /ben@example\.com/],
  ['token create ben@example.com --name ci', /lk_/],
  ['token list ben@example.com', /ci/],
  ['token revoke ben@example.com --name ci', /1 token/],
  ['token revoke --issued-before 1h', /\d+ token/],
  ['token prune', /\d+/],
  ['customer sessions ben@example.com', /^/],
  ['customer unlock ben@example.com', /ben@example\.com/],
  ['token import tokens.csv --from csv', /Imported|imported/],
  ['backup all.backup --skip devices', /^Wrote \d+ rows/],
  ['customer delete cem@example.com', /cem@example\.com/],
  ['service-token new', /\S{32}/],
  ['routes', /\/api\/login/],
  ['openapi', /"openapi"/],
  ['completion bash', /latchkey/],
]

describe('On the schema of the next version', { skip: postgresAlone }, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let database: TestDatabase
  before(async () => {
    folder = await temporaryFolder()
    database = await createTestDatabase()
    await applyNextVersion(database, folder.path, { oldestVersion: LATCHKEY_MIGRATIONS.version })
    const digest = 'ab'.repeat(32)
    writeFileSync(
      join(folder.path, 'tokens.csv'),
      `email,form,external_id,digest,name,abilities,expires_at,last_used_at\nben@example.com,,,${digest},old,"[""*""]",,\n`,
    )
    writeFileSync(join(folder.path, 'more.csv'), `email,password_hash,name\neda@example.com,${HASH},Eda\n`)
  })
  after(async () => {
    await database.drop()
    folder.remove()
  })
  const latchkey = (words: string, input = '') =>
    runLatchkey(words.split(' '), {
      cwd: folder.path,
      env: { ...database.env, BCRYPT_COST: '10' },
      input,
    })

  test('instances serve, cache and revoke, and are ready', async (t) => {
    const apps = [await startApp({ database }), await startApp({ database })] as const
    t.after(() => Promise.all(apps.map(({ service }) => service.stop({ delay: false }))))
    const [one, other] = apps
    for (const email of ['ana@example.com', 'ben@example.com', 'cem@example.com'])
      await one.addCustomer({ email })
    const me = async (token: string) => (await other.call('/api/me', { token })).status
    const first = await one.login('ana@example.com')
    for (let i = 0; i < 10; i++) assert.equal(await me(first), 200)
    const second = await one.login('ana@example.com')
    assert.deepEqual([await me(first), await me(second)], [401, 200])
    const { code, stderr } = await latchkey('token revoke ana@example.com')
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(await me(second), 401)
    for (const app of apps) {
      const ready = () => app.call('/readyz', { method: 'GET', token: SERVICE_SECRET })
      // The listener connection caches.
      await until(async () => (await ready()).body.checks?.invalidations === 'ok')
      assert.equal((await ready()).status, 200)
      assert.deepEqual(
        app.logLines.filter((line) => /"database\.problem"|The (trigger|function) /.test(line)),
        [],
      )
    }
  })

  test('every command works', async () => {
    for (const [words, output, input] of COMMANDS) {
      const { code, stdout, stderr } = await latchkey(words, input)
      assert.equal(code, 0, `${words}: ${stderr}`)
      assert.match(stdout, output, words)
    }
    const service = startLatchkey(['serve'], {
      cwd: folder.path,
      env: { ...database.env, PORT: '0', BCRYPT_COST: '4', MIGRATE: 'off' },
    })
    const [, url = ''] = await service.until(/running at (\S+)/)
    const smoke = await latchkey(`smoke ${url} --email ben@example.com --password-stdin`, `${PASSWORD}\n`)
    assert.equal(smoke.code, 0, smoke.stderr)
    service.child.kill()
    assert.equal((await service.ended).code, 0)
  })

  test('no command is left out of the test', () => {
    const program = createProgram(makeCommandLine().operations, process)
    const all = program.commands.flatMap((command) =>
      command.commands.length === 0
        ? [command.name()]
        : command.commands.map((next) => `${command.name()} ${next.name()}`),
    )
    // A backup is not restored over a newer schema, and the embedded data is of this version.
    const elsewhere = ['serve', 'smoke', 'doctor', 'help', 'restore', 'upgrade-data']
    const missing = all
      .filter((name) => !elsewhere.includes(name) && !name.endsWith(' help'))
      .filter((name) => !COMMANDS.some(([words]) => words === name || words.startsWith(`${name} `)))
    assert.deepEqual(missing, [])
  })

  test('doctor warns of it, and fails at nothing', async () => {
    const { code, stdout } = await latchkey('doctor --json')
    const { checks } = JSON.parse(stdout)
    const found = checks.find(({ name }: { name: string }) => name === 'database.migrations')
    assert.deepEqual([found.state, found.facts], ['warning', { pending: [], newer: [NEXT] }])
    assert.deepEqual(
      checks.filter(({ state }: { state: string }) => state === 'failure'),
      [],
    )
    assert.equal(code, 0)
  })

  test('a trigger that is disabled or missing is still found', async () => {
    await database.sql('alter table login_tokens disable trigger publish_update')
    const { code, stderr } = await latchkey('serve')
    assert.match(stderr, /The trigger publish_update on login_tokens does not fire as it must/)
    assert.equal(code, 1)
    await database.sql('alter table login_tokens enable always trigger publish_update')
  })
})

describe('On a schema that is too new', { skip: postgresAlone }, () => {
  for (const [title, oldestVersion, reason] of [
    ['which says the version that it needs', '99.0.0', / It needs version 99\.0\.0 or newer, and this is \d/],
    ['whose version said nothing', undefined, /$/],
  ] as const)
    test(`every command refuses in one line, ${title}`, async (t) => {
      const [folder, database] = [await temporaryFolder(), await createTestDatabase()]
      t.after(() => Promise.all([database.drop(), folder.remove()]))
      await applyNextVersion(database, folder.path, { oldestVersion })
      const commands = ['serve', 'migrate', 'migrate --check', 'customer list', 'token prune']
      const env = { ...database.env, PORT: '0' }
      const run = (words: string) => runLatchkey(words.split(' '), { cwd: folder.path, env })
      for (const { code, stderr } of await Promise.all(commands.map(run))) {
        const refusal = `schema is newer than this version of Latchkey: it has ${NEXT}\\.`
        assert.match(stderr, new RegExp(`${refusal}${reason.source}`, 'm'))
        assert.deepEqual([code, stderr.trim().split('\n').length], [1, 1])
      }
    })
})

/** Migrates as the next version of Latchkey would. */
async function applyNextVersion(
  { url }: TestDatabase,
  path: string,
  { oldestVersion }: { readonly oldestVersion: string | undefined },
): Promise<void> {
  const folder = join(path, 'sql')
  cpSync(LATCHKEY_MIGRATIONS.folder, folder, { recursive: true })
  writeFileSync(join(folder, `${NEXT}.sql`), EXPANSION)
  const { table, owner } = LATCHKEY_MIGRATIONS
  const set = { folder, table, owner, version: '99.0.0' }
  const applied = await migrate({ url, set: oldestVersion === undefined ? set : { ...set, oldestVersion } })
  assert.deepEqual(applied, [NEXT])
}
