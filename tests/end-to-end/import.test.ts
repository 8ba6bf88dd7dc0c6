import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { MADE_PROBLEMS, madeCustomers } from '../support/made-customers.ts'
import { type RunningApp, startApp } from '../support/running-app.ts'
import {
  latchkeyProgram,
  runLatchkey,
  shellCommand,
  startLatchkey,
  startProcess,
  temporaryFolder,
} from '../support/running-process.ts'
import { sharedCaches } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

const TAIL = '04$abcdefghijklmnopqrstuuNQrW4HtpbvUPwWirnrwjC4bel4JAS1u'
const HASH = `$2y$${TAIL}`
const PASSWORD = 'correct horse 9'

let app: RunningApp
let folder: Awaited<ReturnType<typeof temporaryFolder>>
before(async () => {
  folder = await temporaryFolder()
  app = await startApp()
})
after(async () => {
  await app.close()
  folder.remove()
})
beforeEach(async () => {
  await app.database.sql('delete from customers')
})

const options = () => ({ cwd: folder.path, env: { ...app.database.env } })
const latchkey = (...args: readonly string[]) => runLatchkey(args, options())
const login = async (email: string, password = PASSWORD) =>
  (await app.call('/api/login', { body: { email, password } })).status
const storedHash = async (email: string) =>
  (await app.database.sql('select password_hash from customers where email = $1', [email]))[0]?.password_hash
const countCustomers = async () => (await app.database.sql('select from customers')).length

function writeTemporaryFile(name: string, text: string): string {
  writeFileSync(join(folder.path, name), text)
  return name
}

function toCsv(rows: readonly (readonly [email: string, hash: string, name?: string])[]): string {
  return `email,password_hash,name\n${rows.map(([email, hash, name = '']) => `${email},${hash},${name}\n`).join('')}`
}

const toNdjson = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

describe('imported customers', () => {
  test('cannot log in with the empty password, even if its hash was imported', async () => {
    const ofEmpty = '$2b$04$WUHhXETkX0fnYkrqZU3ta.Dei9siemF7Y7u5EXht8HvVA41x1CvnW'
    writeTemporaryFile('empty.csv', toCsv([['empty@example.com', ofEmpty]]))
    assert.equal((await latchkey('customer', 'import', 'empty.csv')).code, 0)
    const { status, body } = await app.call('/api/login', {
      body: { email: 'empty@example.com', password: '' },
    })
    assert.deepEqual([status, body.reason], [401, 'invalid_credentials'])
    assert.equal(await storedHash('empty@example.com'), ofEmpty)
  })

  // Public case 027, case 028, case 057, case 063
  test('log in with their previous e-mail and password', async () => {
    const rows = [
      ["o'hara@example.com", HASH, PASSWORD],
      ['jean@xn--mnchen-3ya.example', `$2b$${TAIL}`, PASSWORD],
      ['ana@localhost', `$2a$${TAIL}`, PASSWORD],
      ['ñandu@example.com', HASH, PASSWORD],
      ['blank@example.com', '$2y$04$abcdefghijklmnopqrstuui.ptP7RN6GmuQ5A5kQERWyZLUDKJdcK', ' hunter2 '],
      ['long@example.com', '$2y$04$abcdefghijklmnopqrstuuNt.0ah97gHY3F7JC1Z6EXmQc0bQBhIO', 'p'.repeat(100)],
    ] as const
    const file = writeTemporaryFile('good.csv', toCsv(rows))
    const { code, stdout, stderr } = await latchkey('customer', 'import', file)
    assert.deepEqual([code, stderr, stdout], [0, '', 'Imported: 6, already there: 0, refused: 0.\n'])
    for (const [email, hash, password] of rows) {
      assert.equal(await storedHash(email), hash)
      assert.equal(await login(email, password), 200, email)
    }
    assert.equal(await login('blank@example.com', 'hunter2'), 401)
    assert.equal(await login('blank@example.com', '     '), 401)
  })

  // Public case 058, case 060, case 061, case 068
  test('are refused with an incomplete hash, which is never printed', async () => {
    const kind = 'password_hash: Must be bcrypt of the version $2a$, $2b$ or $2y$.'
    const bad = [
      [`$2x$${TAIL}`, kind],
      [`$2$${TAIL}`, kind],
      ['$1$abcdefgh$Xk6GbLOSUhzAQ1ZkfVcP0.', kind],
      ['5f4dcc3b5aa765d61d8327deb882cf99', kind],
      ['$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b4dWRWJTmaaJObG', kind],
      ['', 'password_hash: Must not be empty.'],
      [null, 'password_hash: Must be text.'],
      [HASH.slice(0, 59), 'password_hash: Has 59 characters, expected 60.'],
      [`"${HASH}"`, kind],
      [`${HASH}\u0000junk`, 'password_hash: Has 65 characters, expected 60.'],
      ['secret in clear', kind],
    ] as const
    const padded = [`${HASH} `, `${HASH}\r`, ` ${HASH}`, HASH.padEnd(64)]
    const rows = [...bad.map(([hash]) => hash), ...padded].map((password_hash, at) => ({
      email: `customer-${at}@example.com`,
      password_hash,
    }))
    const { code, stdout, stderr } = await latchkey(
      'customer',
      'import',
      writeTemporaryFile('bad.ndjson', toNdjson(rows)),
    )
    assert.deepEqual(
      [code, stdout],
      [1, `Imported: ${padded.length}, already there: 0, refused: ${bad.length}.\n`],
    )
    const lines = bad.map(([, problem], at) => `latchkey: line ${at + 1}: ${problem}\n`)
    assert.equal(stderr, `${lines.join('')}latchkey: Rows were refused: ${bad.length}.\n`)
    for (const at of padded.keys()) {
      const email = `customer-${bad.length + at}@example.com`
      assert.equal(await storedHash(email), HASH)
      assert.equal(await login(email), 200)
    }
  })

  // Public case 066
  test('keep a hash of lower cost until they log in', { skip: sharedCaches }, async (t) => {
    const dear = await startApp({ database: app.database, env: { BCRYPT_COST: '11' } })
    t.after(() => dear.close())
    const hash = '$2y$10$abcdefghijklmnopqrstuuG9vgRxibBkoVPvz73E3.IaYK../N/AO'
    await latchkey(
      'customer',
      'import',
      writeTemporaryFile('cheap.csv', toCsv([['cheap@example.com', hash]])),
    )
    assert.equal(await storedHash('cheap@example.com'), hash)
    const body = { email: 'cheap@example.com', password: PASSWORD }
    for (const _ of [1, 2]) {
      assert.equal((await dear.call('/api/login', { body })).status, 200)
      assert.match((await storedHash('cheap@example.com')) ?? '', /^\$2b\$11\$/)
    }
  })

  // Public case 078
  test('are unique by e-mail in any case, in a file, a command and a race of both', async () => {
    const file = writeTemporaryFile(
      'two.csv',
      toCsv([
        ['ana@example.com', HASH],
        ['Ana@example.com', `$2b$${TAIL}`],
      ]),
    )
    const add = (email: string) =>
      runLatchkey(['customer', 'add', email, '--hash-stdin'], { ...options(), input: HASH })
    const first = await latchkey('customer', 'import', file)
    assert.deepEqual([first.code, first.stdout], [1, 'Imported: 1, already there: 0, refused: 1.\n'])
    assert.match(first.stderr, /^latchkey: line 3: email: Is the same as in line 2\.$/m)
    assert.equal(await storedHash('ana@example.com'), HASH)
    const second = await add('ANA@EXAMPLE.COM')
    assert.deepEqual(
      [second.code, second.stderr],
      [1, 'latchkey: A customer ANA@EXAMPLE.COM exists already.\n'],
    )

    await app.database.sql('delete from customers')
    const [imported, added] = await Promise.all([
      latchkey('customer', 'import', file),
      add('ANA@EXAMPLE.COM'),
    ])
    assert.equal(await countCustomers(), 1)
    assert.equal(
      imported.stdout,
      `Imported: ${added.code}, already there: ${1 - (added.code ?? 0)}, refused: 1.\n`,
    )
    if (added.code !== 0) assert.match(added.stderr, /exists already\.\n$/)
  })

  // Public case 082
  test('are all stored from a file of another system, and a second run changes nothing', async () => {
    const file = writeTemporaryFile(
      'export.csv',
      [
        'email,notes,password_hash,name',
        `ana@example.com,,${HASH},"Ruiz, Ana"`,
        `bea@example.com,"first`,
        `second line",${HASH},Bea`,
        'one field',
        `cleo@example.com,,${HASH},Cleo`,
        '',
        '',
      ].join('\r\n'),
    )
    const first = await latchkey('customer', 'import', file)
    assert.deepEqual([first.code, first.stdout], [1, 'Imported: 3, already there: 0, refused: 1.\n'])
    assert.match(first.stderr, /^latchkey: line 5: Has 1 field, expected 4\.$/m)
    await runLatchkey(['customer', 'password', 'bea@example.com', '--hash-stdin'], {
      ...options(),
      input: `$2b$${TAIL}`,
    })
    const before = await app.database.sql('select * from customers order by id')
    const second = await latchkey('customer', 'import', file)
    assert.deepEqual([second.code, second.stdout], [1, 'Imported: 0, already there: 3, refused: 1.\n'])
    assert.deepEqual(await app.database.sql('select * from customers order by id'), before)
    assert.equal(await storedHash('bea@example.com'), `$2b$${TAIL}`)
  })

  // Public case 036
  test('are stored once when two imports of a file run in parallel', async () => {
    const csv = [...madeCustomers({ good: 3000, bad: 0 })].join('')
    const [header = '', ...rows] = csv.trim().split('\n')
    writeTemporaryFile('up.csv', csv)
    writeTemporaryFile('down.csv', [header, ...rows.reverse()].join('\n'))
    const both = await Promise.all(['up.csv', 'down.csv'].map((file) => latchkey('customer', 'import', file)))
    const counts = both.map(({ code, stdout, stderr }) => {
      assert.deepEqual([code, stderr], [0, ''])
      return (
        /^Imported: (\d+), already there: (\d+), refused: 0\.\n$/.exec(stdout)?.slice(1).map(Number) ?? []
      )
    })
    assert.equal((counts[0]?.[0] ?? 0) + (counts[1]?.[0] ?? 0), 3000)
    assert.ok(counts.every(([added = 0, there = 0]) => added + there === 3000))
    assert.equal(await countCustomers(), 3000)
  })

  test('may be thousands: each invalid row is reported once, and neither a second nor a dry run changes anything', async (t) => {
    const size = { good: 4950, bad: 50 }
    const file = writeTemporaryFile('many.csv', [...madeCustomers(size)].join(''))
    const import_ = (...more: string[]) => latchkey('customer', 'import', file, ...more)
    const dry = await import_('--dry-run')
    assert.deepEqual(
      [dry.code, dry.stdout],
      [1, 'Dry run, nothing changed. New: 4950, already there: 0, refused: 50.\n'],
    )
    assert.equal(await countCustomers(), 0)
    const first = await import_()
    assert.deepEqual([first.code, first.stdout], [1, 'Imported: 4950, already there: 0, refused: 50.\n'])
    assert.equal(first.stderr, dry.stderr)
    assert.equal(await countCustomers(), 4950)
    const lines = first.stderr.split('\n').filter((line) => line.includes(': line '))
    assert.deepEqual(
      lines.map((line) => line.replace(/^latchkey: line \d+: /, '')),
      Array.from({ length: 50 }, (_, at) => MADE_PROBLEMS[at % MADE_PROBLEMS.length]),
    )
    assert.equal(new Set(lines.map((line) => /line (\d+)/.exec(line)?.[1])).size, 50)
    const second = await import_()
    assert.deepEqual([second.code, second.stdout], [1, 'Imported: 0, already there: 4950, refused: 50.\n'])
    assert.equal(await countCustomers(), 4950)
    t.diagnostic(`5,000 rows: ${Math.round(first.ms)} ms`)
  })

  test('stay stored in complete batches after Ctrl-C, and a second run completes the import', async (t) => {
    const csv = [...madeCustomers({ good: 1200, bad: 0 })].join('')
    const running = startLatchkey(['customer', 'import', '-', '--format', 'csv'], {
      ...options(),
      input: null,
    })
    t.after(() => running.child.kill('SIGKILL'))
    running.child.stdin?.write(csv)
    await until(async () => (await countCustomers()) >= 1000)
    running.child.kill('SIGINT')
    assert.deepEqual(
      await running.ended.then(({ code, signal, stdout, stderr }) => ({ code, signal, stdout, stderr })),
      {
        code: 1,
        signal: null,
        stdout: 'Imported: 1000, already there: 0, refused: 0.\n',
        stderr: 'latchkey: Interrupted; what was imported stays. Run it again for the rest.\n',
      },
    )
    assert.equal(await countCustomers(), 1000)
    const again = await latchkey('customer', 'import', writeTemporaryFile('made.csv', csv))
    assert.deepEqual([again.code, again.stdout], [0, 'Imported: 200, already there: 1000, refused: 0.\n'])
  })

  const terminal = 'script'
  const about = spawnSync(terminal, ['--version'], { encoding: 'utf8' }).stdout ?? ''
  test('are counted on a terminal during the import', {
    skip: about.includes('util-linux') ? false : 'script of util-linux is not installed',
  }, async () => {
    writeTemporaryFile('shown.csv', [...madeCustomers({ good: 20_000, bad: 2 })].join(''))
    const command = shellCommand('customer', 'import', 'shown.csv')
    const args = ['--quiet', '--return', '--command', command, '/dev/null']
    const { code, stdout } = await startProcess(terminal, args, {
      ...options(),
      env: { ...latchkeyProgram.env, ...options().env },
    }).ended
    const shares = [...stdout.matchAll(/Importing {2}█*░* +(\d+) % {2}\d+ rows/g)].map(([, share]) =>
      Number(share),
    )
    assert.ok(shares.length > 1, stdout)
    assert.ok((shares.at(-1) ?? 0) > 0)
    assert.deepEqual(
      shares,
      [...shares].sort((a, b) => a - b),
    )
    // A message never shares a line with the progress bar.
    for (const line of stdout.matchAll(/(.{0,4})(?:latchkey: |Imported: )/g))
      assert.match(line[1] ?? '', /\[K$|^$/)
    assert.match(stdout, /Imported: 20000, already there: 0, refused: 2\.\r\n/)
    assert.equal(code, 1)
  })
})

describe('a common password', () => {
  const add = (email: string, env: Record<string, string> = {}) =>
    runLatchkey(['customer', 'add', email, '--password-stdin'], {
      cwd: folder.path,
      env: { ...options().env, BCRYPT_COST: '10', ...env },
      input: 'PassWord1\n',
    })

  test('is refused in any letter case, unless COMMON_PASSWORDS=accepted', async () => {
    const { code, stdout, stderr } = await add('ana@example.com')
    assert.deepEqual(
      [code, stdout, stderr],
      [1, '', 'latchkey: password: Too common. Choose another password.\n'],
    )
    assert.equal((await add('ana@example.com', { COMMON_PASSWORDS: 'accepted' })).code, 0)
    assert.equal(await countCustomers(), 1)
  })
})
