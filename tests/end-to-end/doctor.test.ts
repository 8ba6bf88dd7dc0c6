import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { nodeFinding } from '../../src/program/doctor.ts'
import { callAt } from '../../src/testing/call.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { runLatchkey, startLatchkey, temporaryFolder } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'

const SECRET = 'canary-of-a-service-token-0123456789'

interface Check {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'failure'
  readonly message: string
  readonly hint: string | null
  readonly facts: Readonly<Record<string, number>>
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let database: TestDatabase
before(async () => {
  folder = await temporaryFolder()
  database = await createTestDatabase()
})
after(async () => {
  await database.drop()
  folder.remove()
})

const path = (name: string) => join(folder.path, name)

/** The URL with a password that must never be printed. The server needs no password, or the URL already has one. */
function withPassword(): string {
  const url = new URL(database.url)
  url.password ||= 'canary-password'
  return url.href
}

/** Runs `doctor --json` and asserts that the output holds no secret. */
async function doctor(env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runLatchkey(['doctor', '--json'], {
    cwd: folder.path,
    env: { DATABASE_URL: withPassword(), BCRYPT_COST: '10', ...env },
  })
  assert.doesNotMatch(stdout + stderr, /canary/)
  const document = JSON.parse(stdout)
  assert.deepEqual(Object.keys(document), ['ok', 'version', 'settings', 'checks'])
  const checks: readonly Check[] = document.checks
  const failures = checks.filter(({ state }) => state === 'failure').length
  assert.deepEqual([code, document.ok], failures === 0 ? [0, true] : [1, false])
  for (const { state, message, hint } of checks) {
    assert.equal(hint === null, state === 'ok')
    assert.doesNotMatch(message + hint, /\n/)
  }
  return {
    stderr,
    settings: document.settings as readonly Record<string, unknown>[],
    checks,
    /** Returns the state and the text of one check. */
    found: (name: string) => checks.find((check) => check.name === name),
    states: Object.fromEntries(checks.map(({ name, state }) => [name, state])),
  }
}

/** The contents and the schema of a database. */
async function readContents({ sql }: TestDatabase): Promise<unknown> {
  const relations = await sql(
    "select relname, relnatts from pg_class where relnamespace = 'public'::regnamespace order by 1",
  )
  const customers = await sql('select * from customers order by id')
  return { relations, customers, migrations: await sql('select * from latchkey_migrations order by id') }
}

describe('doctor', { skip: postgresAlone }, () => {
  test('reports a healthy service and changes nothing', async () => {
    writeFileSync(path('tokens'), `monitor=${SECRET}\n`, { mode: 0o600 })
    writeFileSync(path('.env'), 'TOKEN_TTL=7d\n')
    const before = await readContents(database)
    const { settings, states, found } = await doctor({
      SERVICE_TOKENS_FILE: path('tokens'),
      AUDIT_LOG: path('audit.jsonl'),
    })
    assert.deepEqual(states, {
      settings: 'ok',
      node: 'ok',
      'files.SERVICE_TOKENS_FILE': 'ok',
      'files.AUDIT_LOG': 'ok',
      hashing: 'ok',
      'database.reached': 'ok',
      'database.server': 'ok',
      'database.migrations': 'ok',
      'database.link': 'ok',
      'database.clock': 'ok',
      'database.connections': 'ok',
      'database.passwords': 'ok',
      'database.writable': 'ok',
      'database.schema': 'ok',
      'database.grants': 'ok',
      'database.indexes': 'ok',
      'database.triggers': 'ok',
    })
    const setting = (name: string) => settings.find((one) => one.name === name)
    const source = 'environment'
    assert.deepEqual(setting('SERVICE_TOKENS'), {
      name: 'SERVICE_TOKENS',
      value: 'monitor=***',
      source,
      variable: 'SERVICE_TOKENS_FILE',
    })
    assert.match(String(setting('DATABASE_URL')?.value), /:\*\*\*@/)
    assert.deepEqual([setting('TOKEN_TTL')?.value, setting('TOKEN_TTL')?.source], ['7d', '.env'])
    assert.deepEqual([setting('PORT')?.value, setting('PORT')?.source], ['3000', 'default'])
    assert.equal(setting('PUBLIC_URL')?.value, null)
    const { hash_ms = 0, concurrency = 0, logins_per_second = 0 } = found('hashing')?.facts ?? {}
    assert.ok(Math.abs((concurrency * 1000) / hash_ms - logins_per_second) < logins_per_second / 50)
    assert.equal(found('database.clock')?.facts.threshold_ms, 1000)
    assert.deepEqual(await readContents(database), before)
    assert.deepEqual(readdirSync(folder.path).sort(), ['.env', 'tokens'])
  })

  test('prints a line for each check, then every setting with --all, and no secrets', async () => {
    const { code, stdout, stderr } = await runLatchkey(['doctor', '--all'], {
      cwd: folder.path,
      env: { DATABASE_URL: withPassword(), BCRYPT_COST: '9', SERVICE_TOKENS: `monitor=${SECRET}` },
    })
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^SETTING +VALUE +FROM\nHOST +127\.0\.0\.1 +default\n/m)
    assert.match(stdout, /^SERVICE_TOKENS +monitor=\*\*\* +environment$/m)
    assert.match(stdout, /^warning {2}settings\.BCRYPT_COST: BCRYPT_COST is below 10.*\n {9}\S/m)
    assert.match(
      stdout,
      /^ok {7}database\.link: A notification is received on the listener connection after \d+ ms\.$/m,
    )
    assert.doesNotMatch(stdout, /canary/)
  })

  test('prints, like the other commands, no part of a password that is not percent-encoded', async () => {
    for (const part of ['77281#canary', '77282/77283canary', '77284?canary'])
      for (const command of [
        ['doctor'],
        ['doctor', '--json'],
        ['serve'],
        ['migrate'],
        ['customer', 'list'],
      ]) {
        const env = { DATABASE_URL: `postgres://app:${part}@db.invalid/x`, BCRYPT_COST: '10', PORT: '0' }
        const { code, stdout, stderr } = await runLatchkey(command, { cwd: folder.path, env })
        assert.equal(code, 1)
        assert.match(stdout + stderr, /DATABASE_URL.*percent-encoded/s)
        assert.doesNotMatch(stdout + stderr, /canary|7728\d|app:/)
      }
  })

  test('runs the remaining checks when settings are invalid', async () => {
    const wrong = await doctor({ PORT: 'canary', SERVICE_TOKENS: 'monitor=canary', TOKEN_TTL: 'soon' })
    assert.deepEqual(
      wrong.checks.filter(({ state }) => state !== 'ok').map(({ name, state }) => `${state} ${name}`),
      ['failure settings.PORT', 'failure settings.TOKEN_TTL', 'failure settings.SERVICE_TOKENS'],
    )
    assert.equal(wrong.states['database.clock'], 'ok')
    assert.equal(wrong.stderr, 'latchkey: 3 checks failed.\n')
    writeFileSync(path('.env'), `SERVICE_TOKENS=monitor=${SECRET}\n`)
    chmodSync(path('.env'), 0o644)
    assert.equal(wrong.settings.find(({ name }) => name === 'PORT')?.value, null)
    const { states, found } = await doctor({
      DATABASE_URL: 'mysql://canary@127.0.0.1/canary',
      AUDIT_LOG: path('none/audit.jsonl'),
    })
    assert.deepEqual([states['settings.DATABASE_URL'], states.hashing], ['failure', 'ok'])
    assert.equal(states['files.AUDIT_LOG'], 'failure')
    // The file holds a secret and is world-readable.
    assert.equal(states['files..env'], 'warning')
    assert.equal(found('database')?.hint, 'Correct DATABASE_URL first.')
  })

  test('does not create an embedded PostgreSQL and does not disturb a running one', async (t) => {
    const own = await temporaryFolder()
    t.after(() => own.remove())
    const env = { DATA_DIR: join(own.path, 'data'), PORT: '0', BCRYPT_COST: '10' }
    const options = { cwd: own.path, env }
    const states = async () => {
      const { stdout } = await runLatchkey(['doctor', '--json'], options)
      return JSON.parse(stdout).checks.map(({ name, state }: Check) => `${state} ${name}`)
    }
    assert.deepEqual((await states()).slice(-2), ['ok files.DATA_DIR', 'ok database'])
    assert.equal(existsSync(env.DATA_DIR), false)
    const service = startLatchkey([], options)
    t.after(() => void service.child.kill('SIGKILL'))
    const [, url = ''] = await service.until(/running at (\S+)/)
    const postmaster = () =>
      readFileSync(join(env.DATA_DIR, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]
    const before = postmaster()
    const found = await states()
    assert.ok(
      found.every((line: string) => line.startsWith('ok ')),
      found.join(', '),
    )
    assert.equal(postmaster(), before)
    assert.equal((await callAt(url, '/readyz', { method: 'GET' })).status, 200)
    service.child.kill('SIGINT')
    assert.equal((await service.ended).code, 0)
  })

  test('checks for the versions of Node that the package supports', () => {
    const { engines } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
    assert.equal(engines.node, '>=20.19.0')
    const states = ['18.20.0', '20.18.3', '20.19.0', '22.1.0'].map((version) => nodeFinding(version).state)
    assert.deepEqual(states, ['failure', 'failure', 'ok', 'ok'])
  })
})
