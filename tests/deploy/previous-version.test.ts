import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { knownMigrations, LATCHKEY_MIGRATIONS } from '../../src/adapters/postgres/migration-set.ts'
import { migrate } from '../../src/adapters/postgres/migrations.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startProcess, temporaryFolder, UNCOUNTED } from '../support/running-process.ts'

/**
 * The previous version: the first commit whose program accepts a newer schema. A release records its own commit here for the
 * version after it.
 */
const PREVIOUS = 'bb4d8b6538c7a1cfff9a2947f0c0ffbba2051084'

const ROOT = join(import.meta.dirname, '../..')
/** Tests of the previous version that say what its clients and operators rely on. */
const SUITE = ['tokens', 'named-tokens', 'instances', 'revoking-by-age', 'token-upkeep', 'commands'].map(
  (name) => `tests/end-to-end/${name}.test.ts`,
)
/** A migration of a version that does not exist yet, as `docs/operations/upgrades.md` allows it. */
const NEXT = `
  alter table login_tokens add column added_later text not null default 'x';
  create table latchkey_added_later (id int primary key);
  create index on login_tokens (added_later);`

const git = (...args: readonly string[]) => execFileSync('git', args, { cwd: ROOT, stdio: 'pipe' })
const skip = hasHistory() ? false : `SKIPPED: this checkout has no history with the commit ${PREVIOUS}`

describe('the previous version', { skip }, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let previous: string
  before(async () => {
    folder = await temporaryFolder()
    previous = join(folder.path, 'previous')
    git('worktree', 'add', '--detach', previous, PREVIOUS)
    symlinkSync(join(ROOT, 'node_modules'), join(previous, 'node_modules'))
  })
  after(() => {
    git('worktree', 'remove', '--force', previous)
    folder.remove()
  })

  const start = (database: TestDatabase, args: readonly string[], input = '') =>
    startProcess(process.execPath, [join(previous, 'bin/latchkey.js'), ...args], {
      cwd: folder.path,
      env: { ...database.env, ...UNCOUNTED, PORT: '0', LOG_LEVEL: 'silent' },
      input,
    })
  const run = async (database: TestDatabase, args: readonly string[], input = '') => {
    const { code, stdout, stderr } = await start(database, args, input).ended
    assert.deepEqual([code, stderr.replace(/^The token .*\n/, '')], [0, ''], args.join(' '))
    return stdout
  }

  /** Returns a database with today's schema, and the migration of the next version if `sql` is given. */
  async function newer(
    t: { after(work: () => Promise<void>): void },
    sql?: string,
    needs?: { readonly oldestVersion: string },
  ): Promise<TestDatabase> {
    const database = await createTestDatabase()
    t.after(() => database.drop())
    if (sql === undefined) return database
    const next = join(folder.path, 'next')
    cpSync(LATCHKEY_MIGRATIONS.folder, next, { recursive: true })
    writeFileSync(join(next, '9999_next.sql'), sql)
    await migrate({ url: database.url, set: { ...LATCHKEY_MIGRATIONS, folder: next, ...needs } })
    rmSync(next, { recursive: true })
    return database
  }

  for (const [name, sql] of [
    ["today's schema", undefined],
    ["the next version's schema", NEXT],
  ] as const)
    test(`serves, and runs its commands, on ${name}`, async (t) => {
      const database = await newer(t, sql)
      assert.equal(await run(database, ['migrate', '--check']), 'The schema is current.\n')
      await run(database, ['customer', 'add', 'ana@example.com', '--password-stdin'], 'correct horse 9\n')
      const secret = (await run(database, ['token', 'create', 'ana@example.com', '--name', 'bot'])).trim()
      const service = start(database, ['serve'])
      const [, url] = await service.until(/(http:\/\/127\.0\.0\.1:\d+)/)
      const call = async (path: string, token?: string, body: object = {}) => {
        const headers = {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        }
        const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
        return { status: response.status, body: (await response.json()) as { token?: string } }
      }
      const login = () =>
        call('/api/login', undefined, { email: 'ana@example.com', password: 'correct horse 9' })
      const first = (await login()).body.token
      const second = (await login()).body.token
      assert.equal((await call('/api/me', first)).status, 401)
      assert.equal((await call('/api/me', second)).status, 200)
      assert.equal((await call('/api/me', secret)).status, 200)
      assert.match(
        await run(database, ['token', 'revoke', 'ana@example.com', '--name', 'bot']),
        /^Revoked 1 token/,
      )
      assert.equal((await call('/api/me', secret)).status, 401)
      assert.equal((await call('/api/logout', second)).status, 200)
      assert.equal((await call('/api/me', second)).status, 401)
      await run(database, ['token', 'list', '--json'])
      await run(database, ['token', 'prune'])
      await run(database, ['customer', 'disable', 'ana@example.com'])
      service.child.kill('SIGTERM')
      assert.equal((await service.ended).code, 0)
    })

  test('refuses a schema that needs a later version, and names it', async (t) => {
    const database = await newer(t, 'select 1', { oldestVersion: '9.9.0' })
    const { code, stderr } = await start(database, ['migrate', '--check']).ended
    assert.equal(code, 1)
    assert.match(
      stderr,
      /schema is newer than this version of Latchkey: it has [^.]*9999_next\. It needs version 9\.9\.0 or newer/,
    )
  })

  test("passes its tests from end to end on today's schema", {
    skip: process.env.TEST_LONG === '1' ? false : 'TEST_LONG=1 runs it',
  }, () => {
    rmSync(join(previous, 'sql'), { recursive: true })
    symlinkSync(join(ROOT, 'sql'), join(previous, 'sql'))
    runSuite(previous)
  })
})

test('this version completes a schema of which an upgrade has applied only a part', async (t) => {
  const names = await knownMigrations()
  for (let upTo = names.length - 3; upTo < names.length; upTo++) {
    const database = await createTestDatabase({ migrated: false })
    t.after(() => database.drop())
    await migrate({ url: database.url, upTo })
    assert.deepEqual(await migrate({ url: database.url }), names.slice(upTo))
  }
})

test('this version passes its tests from end to end on such a schema', {
  skip: process.env.TEST_LONG === '1' ? false : 'TEST_LONG=1 runs it',
}, async (t) => {
  const count = (await knownMigrations()).length
  for (const upTo of [count - 1, count - 2])
    await t.test(`with ${upTo} of ${count} migrations`, () => {
      runSuite(ROOT, { TEST_MIGRATIONS: String(upTo) })
    })
})

function runSuite(cwd: string, added: Readonly<Record<string, string>> = {}): void {
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, TEST_PROGRAM: undefined, ...added }
  const { status, stdout, stderr } = spawnSync('node', ['--import', 'tsx', 'tests/run.ts', ...SUITE], {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 800_000,
  })
  assert.equal(status, 0, stdout + stderr)
}

function hasHistory(): boolean {
  return spawnSync('git', ['cat-file', '-e', `${PREVIOUS}^{commit}`], { cwd: ROOT }).status === 0
}
