import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { newServiceSecret } from '../../src/adapters/node-crypto/service-secrets.ts'
import { type RunningApp, startApp } from '../support/running-app.ts'
import { temporaryFolder } from '../support/running-process.ts'
import { FORMS, type Form, ISSUE, OPTIONS, otherForms } from './foreign-tokens.ts'
import { isLong, latchkeyOn, newFile } from './support.ts'

let app: RunningApp
let folder: Awaited<ReturnType<typeof temporaryFolder>>
before(async () => {
  folder = await temporaryFolder()
  app = await startApp({ env: { FOREIGN_TOKENS: FORMS.join(',') } })
  await app.addCustomer({ email: 'ana@example.com' })
})
after(async () => {
  await app.close()
  folder.remove()
})
beforeEach(() => app.database.sql('delete from login_tokens'))

interface Me {
  readonly reason?: string
  readonly customer?: { readonly email: string }
  readonly token: {
    readonly name: string
    readonly abilities: readonly string[]
    readonly expires_at: string
  }
}

const me = async (authorization: string, at = app) => {
  const response = await fetch(`${at.url}/api/me`, { method: 'POST', headers: { authorization } })
  return { status: response.status, body: (await response.json()) as Me }
}
const latchkey = (...args: readonly string[]) => latchkeyOn(app.database, folder.path)(...args)

function writeRows(rows: readonly object[]): string {
  const file = newFile(folder.path, '.ndjson')
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return file
}

function writeCsv(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const file = newFile(folder.path, '.csv')
  const columns = Object.keys(rows[0] as object)
  const quote = (value: unknown) => (value === null ? 'NULL' : `"${String(value).replaceAll('"', '""')}"`)
  writeFileSync(
    file,
    [columns, ...rows.map((row) => columns.map((name) => row[name]))]
      .map((line, at) => (at === 0 ? line.join() : line.map(quote).join()))
      .join('\n'),
  )
  return file
}

const run = (form: Form, rows: readonly Readonly<Record<string, unknown>>[], ...more: readonly string[]) =>
  latchkey('token', 'import', writeRows(rows), '--from', form, ...OPTIONS[form], ...more)

for (const form of FORMS)
  describe(`a token of ${form}`, () => {
    const issue = ISSUE[form]

    test('works after its import from NDJSON and CSV, with the same header', async () => {
      const [first, second] = [issue('ana@example.com'), issue('ANA@example.com ')]
      assert.equal((await me(first.authorization)).body.reason, 'invalid_token')
      const json = await run(form, [first.row])
      assert.deepEqual(
        [json.code, json.stderr, json.stdout],
        [0, '', 'Imported: 1, already there: 0, refused: 0.\n'],
      )
      const csv = await latchkey('token', 'import', writeCsv([second.row]), '--from', form, ...OPTIONS[form])
      assert.deepEqual(
        [csv.code, csv.stderr, csv.stdout],
        [0, '', 'Imported: 1, already there: 0, refused: 0.\n'],
      )
      for (const { authorization } of [first, second]) {
        const { status, body } = await me(authorization)
        assert.deepEqual([status, body.customer?.email], [200, 'ana@example.com'])
        assert.notEqual(body.token.name, 'login')
      }
      const [stored] = await app.database.sql('select form from login_tokens')
      assert.equal(stored?.form, form)
    })

    test('is imported once, and a dry run imports nothing', async () => {
      const { row, authorization } = issue('ana@example.com')
      const dry = await run(form, [row], '--dry-run')
      assert.equal(dry.stdout, 'Dry run, nothing changed. New: 1, already there: 0, refused: 0.\n')
      assert.equal((await me(authorization)).status, 401)
      await run(form, [row])
      const again = await run(form, [row], '--json')
      assert.deepEqual(JSON.parse(again.stdout), {
        refused_rows: [],
        dry_run: false,
        added: 0,
        already_there: 1,
        refused: 0,
        revoked: null,
        skipped: {},
      })
    })

    test('is refused for an unknown or disabled customer, with the number of its line', async () => {
      const disabled = await app.addCustomer({ email: `disabled-${form}@example.com` })
      await app.service.useCases.customers.disable(disabled.id, app.service.useCases.deadline(60_000))
      const { code, stdout, stderr } = await run(form, [
        issue('nobody@example.com').row,
        issue('ana@example.com').row,
        issue(disabled.email).row,
      ])
      assert.deepEqual([code, stdout], [1, 'Imported: 1, already there: 0, refused: 2.\n'])
      assert.match(
        stderr,
        /line 1: email: No customer has this e-mail\.\n.*line 3: email: The customer is disabled\./,
      )
    })

    test('is accepted in no other form and with no other ID', async () => {
      const count = isLong ? 2_500 : 50
      const tokens = Array.from({ length: count }, () => issue('ana@example.com'))
      await run(
        form,
        tokens.map(({ row }) => row),
      )
      const statuses = new Map<string, number>()
      // Without the budget of unknown tokens, every one is looked up.
      const free = await startApp({
        database: app.database,
        env: { FOREIGN_TOKENS: FORMS.join(','), TRUST_PROXY: '1' },
      })
      try {
        let address = 0
        for (const { authorization } of tokens)
          for (const other of otherForms(authorization)) {
            const headers = {
              authorization: other,
              'x-forwarded-for': `10.${(address >> 16) & 255}.${(address >> 8) & 255}.${address++ & 255}`,
            }
            const response = await fetch(`${free.url}/api/me`, { method: 'POST', headers })
            await response.arrayBuffer()
            const key = `${response.status}`
            statuses.set(key, (statuses.get(key) ?? 0) + 1)
          }
      } finally {
        await free.close()
      }
      assert.deepEqual([...statuses.keys()], ['401'])
    })

    test('is verified and revoked for other programs, in its form only', async (t) => {
      const [token, other] = [issue('ana@example.com'), issue('ana@example.com')]
      await run(form, [token.row, other.row])
      const service = newServiceSecret()
      const verifying = await startApp({
        database: app.database,
        env: {
          FOREIGN_TOKENS: FORMS.join(','),
          SERVICE_TOKENS: `gateway[introspect revoke]=${service}`,
        },
      })
      t.after(() => verifying.close())
      const forward = async (authorization: string) =>
        (await fetch(`${verifying.url}/forward-auth`, { headers: { authorization } })).status
      const send = async (path: string, presented: string, authorization = `Bearer ${service}`) => {
        const body = new URLSearchParams({ token: presented })
        const response = await fetch(verifying.url + path, {
          method: 'POST',
          headers: { authorization },
          body,
        })
        return { status: response.status, body: (await response.json()) as { active?: boolean } }
      }
      const isActive = async (presented: string) => (await send('/introspect', presented)).body.active
      // A form has no scheme, except in the text.
      const inForm = (authorization: string) => authorization.replace(/^Bearer /, '')

      assert.equal(await forward(token.authorization), 200)
      assert.equal(await isActive(inForm(token.authorization)), true)
      for (const presented of otherForms(token.authorization)) {
        assert.equal(await forward(presented), 401, presented)
        if (inForm(presented) !== inForm(token.authorization))
          assert.equal(await isActive(inForm(presented)), false, presented)
      }
      for (const scheme of ['Token\0', 'Bearer ', 'token\0'])
        assert.equal(await isActive(token.authorization.replace(/^\w+ /, scheme)), false, scheme)

      await send('/revoke', inForm(token.authorization))
      assert.deepEqual([await forward(token.authorization), await forward(other.authorization)], [401, 200])
      // The holder revokes it with the token itself.
      assert.equal((await send('/revoke', inForm(other.authorization), other.authorization)).status, 200)
      assert.equal(await isActive(inForm(other.authorization)), false)
    })

    test('is malformed on an instance that does not admit its system', async (t) => {
      const { row, authorization } = issue('ana@example.com')
      await run(form, [row])
      const others = FORMS.filter((one) => one !== form && one !== 'better-auth').join(',')
      const closed = await startApp({ database: app.database, env: { FOREIGN_TOKENS: others } })
      t.after(() => closed.close())
      const { status, body } = await me(authorization, closed)
      assert.deepEqual([status, body.reason], [401, form === 'drf' ? 'missing_token' : 'invalid_token'])
    })

    test('is revoked by --sync when the other system no longer has it, on every instance', async (t) => {
      const second = await startApp({ database: app.database, env: { FOREIGN_TOKENS: FORMS.join(',') } })
      t.after(() => second.close())
      const tokens = Array.from({ length: 12 }, () => issue('ana@example.com'))
      await run(
        form,
        tokens.map(({ row }) => row),
      )
      const own = await app.addToken(
        (
          await app.database.sql<{ id: string }>("select id from customers where email = 'ana@example.com'")
        )[0] as { id: string },
      )
      for (const at of [app, second])
        for (const { authorization } of tokens) assert.equal((await me(authorization, at)).status, 200)
      const unreadable = await run(
        form,
        [...tokens.slice(4).map(({ row }) => row), { broken: true }],
        '--sync',
      )
      assert.equal(unreadable.code, 1)
      assert.match(unreadable.stderr, /No token was revoked/)
      const dry = await run(
        form,
        tokens.slice(4).map(({ row }) => row),
        '--sync',
        '--dry-run',
      )
      assert.match(dry.stdout, /to revoke: 4\.\n$/)
      const synced = await run(
        form,
        tokens.slice(4).map(({ row }) => row),
        '--sync',
      )
      assert.deepEqual(
        [synced.code, synced.stdout],
        [0, 'Imported: 0, already there: 8, refused: 0, revoked: 4.\n'],
      )
      for (const at of [app, second])
        for (const [n, { authorization }] of tokens.entries())
          assert.equal((await me(authorization, at)).status, n < 4 ? 401 : 200)
      assert.equal((await me(`Bearer ${own}`)).status, 200)
    })
  })

describe('rows that are refused or skipped', () => {
  test('have abilities that end in :*, unless they are widened', async () => {
    const { row, authorization } = ISSUE.sanctum('ana@example.com', { abilities: '["orders:*"]' })
    const refused = await run('sanctum', [row])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /line 1: abilities: One ends in :\*/)
    assert.equal((await run('sanctum', [row], '--widen')).code, 0)
    assert.deepEqual((await me(authorization)).body.token.abilities, ['orders:*'])
  })

  test('are of another type of owner, expired, disabled or exhausted, and are counted', async () => {
    const past = '2020-01-01 00:00:00'
    const sanctum = await run('sanctum', [
      ISSUE.sanctum('ana@example.com', { tokenable_type: 'App\\Models\\Admin' }).row,
      ISSUE.sanctum('ana@example.com', { expires_at: past }).row,
    ])
    assert.equal(
      sanctum.stdout,
      'Imported: 0, already there: 0, skipped as other type: 1, skipped as expired: 1, refused: 0.\n',
    )
    const better = await run('better-auth', [
      ISSUE['better-auth']('ana@example.com', { enabled: false }).row,
      ISSUE['better-auth']('ana@example.com', { remaining: 0 }).row,
      ISSUE['better-auth']('ana@example.com', { expiresAt: '2020-01-01T00:00:00.000Z' }).row,
    ])
    assert.match(better.stdout, /skipped as disabled: 1, skipped as exhausted: 1, skipped as expired: 1/)
  })

  test('may be predictable, or are not digests', async () => {
    const weak = ISSUE['better-auth']('ana@example.com', { createdAt: '2025-06-01T00:00:00.000Z' })
    assert.match((await run('better-auth', [weak.row])).stderr, /before 1\.4, whose keys can be predicted/)
    assert.equal((await run('better-auth', [weak.row], '--accept-weak-keys')).code, 0)
    const { referenceId: _, ...earlier } = ISSUE['better-auth']('ana@example.com').row
    assert.match((await run('better-auth', [{ ...earlier, userId: '1' }])).stderr, /can be predicted/)
    const plain = ISSUE['better-auth']('ana@example.com', { key: 'a'.repeat(64) })
    assert.match((await run('better-auth', [plain.row])).stderr, /stored in plaintext cannot be imported/)
    assert.match(
      (await run('drf', [{ key: 'a'.repeat(128), email: 'ana@example.com' }])).stderr,
      /SHA-512, as of knox/,
    )
  })

  test('expire by the configuration of Sanctum', async () => {
    const { row, authorization } = ISSUE.sanctum('ana@example.com', { created_at: new Date().toISOString() })
    const file = writeRows([row])
    const options = ['--from', 'sanctum', '--tokenable-type', 'App\\Models\\User']
    assert.match(
      (await latchkey('token', 'import', file, ...options)).stderr,
      /Sanctum needs --tokenable-type.*--expires-after/,
    )
    assert.equal((await latchkey('token', 'import', file, ...options, '--expires-after', '1h')).code, 0)
    const left = Date.parse((await me(authorization)).body.token.expires_at) - Date.now()
    assert.ok(left > 3_500_000 && left <= 3_600_000, String(left))
  })

  test('repeat no value of a row', async () => {
    const secret = 'hunter2hunter2'
    const row = {
      id: secret,
      email: secret,
      hash: secret,
      key: secret,
      abilities: secret,
      token: secret,
      tokenable_type: 'x',
    }
    for (const form of FORMS) {
      const { stderr, stdout } = await run(form, [row])
      assert.ok(!(stderr + stdout).includes(secret), form)
    }
  })

  test('knox is refused by name', async () => {
    const { code, stderr } = await latchkey('token', 'import', 'x.csv', '--from', 'knox')
    assert.equal(code, 2)
    assert.match(stderr, /knox stores SHA-512 digests/)
  })
})

describe('tokens that the real systems have made', () => {
  const folderOfData = join(import.meta.dirname, '../data/foreign-tokens')
  // `tests/moving/recorders` has the programs that made them, each of which accepted the tokens itself.
  const recorded = readdirSync(folderOfData).map((name) =>
    JSON.parse(readFileSync(join(folderOfData, name), 'utf8')),
  )

  before(async () => {
    for (const n of [1, 2, 3]) await app.addCustomer({ email: `peer${n}@example.com` })
  })

  for (const { system, from, rows, authorizations } of recorded)
    test(`work: ${system}`, async () => {
      const imported = await run(from, rows)
      assert.deepEqual(
        [imported.code, imported.stdout],
        [0, `Imported: ${rows.length}, already there: 0, refused: 0.\n`],
      )
      for (const [n, authorization] of authorizations.entries()) {
        const { status, body } = await me(authorization)
        assert.deepEqual([status, body.customer?.email], [200, `peer${n + 1}@example.com`])
      }
    })
})

test('a file of the own format takes tokens of every form, and own ones', async () => {
  const { secrets } = await import('./support.ts')
  const own = secrets.issue()
  const sanctum = ISSUE.sanctum('ana@example.com')
  const file = newFile(folder.path, '.csv')
  writeFileSync(
    file,
    [
      'email,form,external_id,digest,name,abilities,expires_at,last_used_at',
      `ana@example.com,,,${own.digest},bot,orders:read orders:write,2099-01-01T00:00:00.123Z,`,
      `ana@example.com,sanctum,${sanctum.row.id},${sanctum.row.token},login,*,,2026-01-01T00:00:00Z`,
      `ana@example.com,sanctum,,${sanctum.row.token},x,*,,`,
    ].join('\n'),
  )
  const { stdout, stderr } = await latchkey('token', 'import', file, '--from', 'csv')
  assert.equal(stdout, 'Imported: 2, already there: 0, refused: 1.\n')
  assert.match(stderr, /line 4: external_id: Must not be empty for this form/)
  const { token } = (await me(`Bearer ${own.secret}`)).body
  assert.deepEqual(
    [token.abilities, token.expires_at],
    [['orders:read', 'orders:write'], '2099-01-01T00:00:00.123Z'],
  )
  assert.equal((await me(sanctum.authorization)).body.token.name, 'sanctum login')
})

test('a mistyped own token costs no lookup, also with foreign tokens', async () => {
  const { secrets } = await import('./support.ts')
  const { secret } = secrets.issue()
  const wrong = secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')
  const denied = () => app.auditLines.filter((line) => line.includes('token.denied')).length
  const before = denied()
  assert.equal((await me(`Bearer ${wrong}`)).status, 401)
  // Only a token that was looked up is recorded as denied.
  assert.equal(denied(), before)
  assert.equal((await me(`Bearer ${secret}`)).status, 401)
  assert.equal(denied(), before + 1)
})

test('a dry run reports what the import does, also for repeated tokens and those of disabled customers', async () => {
  const { customers, deadline } = app.service.useCases
  for (const name of ['stored', 'moved', 'closed']) await app.addCustomer({ email: `${name}@example.com` })
  const first = ['stored', 'moved', 'closed'].map((name) => ISSUE.drf(`${name}@example.com`).row)
  assert.equal((await run('drf', first)).stdout, 'Imported: 3, already there: 0, refused: 0.\n')
  const disabled = await customers.find('closed@example.com', deadline(60_000))
  await customers.disable(disabled?.id ?? '', deadline(60_000))
  await app.database.sql(
    "update customers set email = 'elsewhere@example.com' where email = 'moved@example.com'",
  )
  assert.equal((await run('drf', first, '--dry-run')).code, 0)
  assert.equal((await run('drf', first)).stdout, 'Imported: 0, already there: 3, refused: 0.\n')

  const [twice, late] = [ISSUE.drf('stored@example.com').row, ISSUE.drf('stored@example.com').row]
  const rows = [
    ...first,
    twice,
    ISSUE.drf('nobody@example.com').row,
    ISSUE.drf('closed@example.com').row,
    { ...twice, name: 'again' },
    { ...late, email: 'nobody@example.com' },
    { ...late, email: 'closed@example.com' },
    late,
    { ...late, email: 'ana@example.com' },
  ]
  const [dry, real] = [await run('drf', rows, '--dry-run', '--json'), await run('drf', rows, '--json')]
  assert.deepEqual(JSON.parse(dry.stdout), { ...JSON.parse(real.stdout), dry_run: true })
  const { added, already_there, refused_rows } = JSON.parse(real.stdout)
  const lines = refused_rows.map(({ line }: { line: number }) => line)
  assert.deepEqual([added, already_there, lines], [2, 5, [5, 6, 8, 9]])
  const stored = await app.database.sql(
    "select email, login_tokens.name from login_tokens join customers on customers.id = customer_id where form = 'drf' order by login_tokens.name, email",
  )
  // The first of repeated rows counts.
  assert.deepEqual(
    stored.filter(({ email }) => email === 'ana@example.com'),
    [],
  )
  assert.ok(!stored.some(({ name }) => name === 'again'))
})

test('a row with a character that PostgreSQL cannot store is refused alone', async () => {
  const hostile = ['\u0000', '1\u00002', '\ud800', '', '7'.repeat(65)].map(
    (id) => ISSUE.adonis('ana@example.com', { id }).row,
  )
  const others = [
    { name: 'a\u0000b' },
    { email: 'ana\u0000@example.com' },
    { abilities: '["a\\u0000b"]' },
    { hash: `${'0'.repeat(63)}\u0000` },
    { type: 'auth_token\u0000' },
    { created_at: '2030-01-01T00:00:00\u0000' },
    { expires_at: '9'.repeat(15) },
    { created_at: -1 },
    { created_at: '1969-12-31T23:59:59Z' },
    { last_used_at: '0000-01-01 00:00:00' },
    { created_at: 'yesterday' },
    { created_at: '2030-02-30 12:00:00' },
    { expires_at: '2030-13-01 12:00:00' },
    // JSON.parse rounds it.
    { id: 2 ** 60 },
  ].map((more) => ISSUE.adonis('ana@example.com', more).row)
  const valid = ISSUE.adonis('ana@example.com')
  const rows = [...hostile, ...others, valid.row]
  const { code, stdout, stderr } = await run('adonis', rows)
  assert.deepEqual(
    [code, stdout],
    [1, `Imported: 1, already there: 0, skipped as other type: 1, refused: ${rows.length - 2}.\n`],
  )
  assert.match(stderr, /line 1: id: Must not contain control characters\./)
  assert.match(stderr, /line 5: id: Must have 1 to 64 characters\./)
  assert.match(stderr, /created_at: Must be a time from 1970 to 9999\./)
  assert.match(stderr, /id: Is a number above 2\^53/)
  assert.equal((await me(valid.authorization)).status, 200)
})

test('a key of better-auth is refused whose permissions or remaining uses cannot be read', async () => {
  for (const more of [
    { permissions: '{"orders":[null]}' },
    { permissions: '{"orders":[["read"]]}' },
    { remaining: 'many' },
    { remaining: 5 },
  ]) {
    const { code, stdout } = await run('better-auth', [ISSUE['better-auth']('ana@example.com', more).row])
    assert.deepEqual([code, stdout], [1, 'Imported: 0, already there: 0, refused: 1.\n'])
  }
})
