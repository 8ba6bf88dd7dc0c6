import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase } from '../support/database.ts'
import { madeCustomers } from '../support/made-customers.ts'
import { PASSWORD, type RunningApp, startApp } from '../support/running-app.ts'
import {
  runLatchkey,
  shellCommand,
  startLatchkey,
  startProcess,
  temporaryFolder,
} from '../support/running-process.ts'

/** A pool left open would keep a command alive for a minute. */
const LEFT_OPEN_MS = 30_000

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

const options = (input = '') => ({
  cwd: folder.path,
  env: { ...app.database.env, BCRYPT_COST: '10' },
  input,
})
const latchkey = (args: readonly string[], input?: string) => runLatchkey(args, options(input))
const me = async (token: string) => (await app.call('/api/me', { token })).status
const login = async (email: string, password = PASSWORD) =>
  (await app.call('/api/login', { body: { email, password } })).status

describe('two parallel commands that add a customer', () => {
  for (const [title, first, second] of [
    // Public case 036
    ['with the same e-mail', 'bea@example.com', 'bea@example.com'],
    // Public case 078
    ['with one e-mail in two cases', 'Cleo@example.com', 'CLEO@EXAMPLE.COM'],
  ] as const) {
    test(`${title} add one, and the other is refused in one line`, async () => {
      const add = (email: string) => latchkey(['customer', 'add', email, '--password-stdin'], PASSWORD)
      const ended = await Promise.all([add(first), add(second)])
      assert.deepEqual(ended.map(({ code }) => code).sort(), [0, 1])
      const refused = ended.find(({ code }) => code === 1)
      assert.match(refused?.stderr ?? '', /^latchkey: A customer \S+ exists already\.\n$/)
      assert.equal(refused?.stdout, '')
      const stored = await app.database.sql('select from customers where lower(email) = lower($1)', [first])
      assert.equal(stored.length, 1)
      assert.equal(await login(first), 200)
    })
  }
})

describe('a command in a separate process', () => {
  // Public case 045
  test('that disables a customer revokes tokens that a service has cached', async () => {
    const { email } = await app.addCustomer()
    const token = await app.login(email)
    for (let i = 0; i < 10; i++) assert.equal(await me(token), 200)
    const { code, stdout } = await latchkey(['customer', 'disable', email])
    assert.match(stdout, /^Disabled .*1 token revoked/)
    assert.equal(code, 0)
    assert.equal(await me(token), 401)
    assert.equal(await login(email), 401)
  })

  // Public case 045, case 084
  test('that sets a password revokes cached tokens, and only the new password logs in', async () => {
    for (const [flag, input] of [
      ['--hash-stdin', '$2y$04$abcdefghijklmnopqrstuui.ptP7RN6GmuQ5A5kQERWyZLUDKJdcK\n'],
      ['--password-stdin', ' hunter2 \n'],
    ] as const) {
      const { email } = await app.addCustomer()
      const token = await app.login(email)
      for (let i = 0; i < 10; i++) assert.equal(await me(token), 200)
      const { code, stdout, stderr } = await latchkey(['customer', 'password', email, flag], input)
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, /^Set the password of .*1 token revoked/)
      assert.equal(await me(token), 401, flag)
      assert.equal(await login(email), 401)
      assert.equal(await login(email, ' hunter2 '), 200)
    }
  })

  // Public case 080
  test('deletes a customer with 0, 1 or 1,000 tokens, and refuses to delete an unknown one', async () => {
    for (const count of [0, 1, 1000]) {
      const { email, id } = await app.addCustomer()
      for (let created = 0; created < count; created++) await app.addToken({ id })
      const first = await latchkey(['customer', 'delete', email])
      assert.deepEqual([first.code, first.stderr], [0, ''])
      assert.deepEqual(await app.database.sql('select from login_tokens where customer_id = $1', [id]), [])
      if (count !== 1) continue
      const { code, stderr } = await latchkey(['customer', 'delete', email])
      assert.deepEqual([code, stderr], [1, `latchkey: There is no customer ${email}.\n`])
    }
  })

  // Public case 079
  test('exits once it has printed its result', async (t) => {
    const empty = await createTestDatabase({ migrated: false })
    t.after(() => empty.drop())
    for (const [args, output, database] of [
      [
        ['customer', 'add', 'dora@example.com', '--password-stdin'],
        /Added dora@example\.com\./,
        app.database,
      ],
      [['customer', 'show', 'dora@example.com'], /active/, app.database],
      [['migrate'], /Applied /, empty],
      [['migrate'], /current/, empty],
      [['--help'], /Usage: latchkey/, empty],
    ] as const) {
      const { env, ...rest } = options(PASSWORD)
      const command = startLatchkey(args, { ...rest, env: { ...env, ...database.env } })
      await command.until(output)
      const printedMs = performance.now()
      const { code } = await command.ended
      const tookMs = performance.now() - printedMs
      assert.equal(code, 0, args.join(' '))
      assert.ok(tookMs < LEFT_OPEN_MS, `${args.join(' ')} stayed for ${tookMs} ms`)
      t.diagnostic(`${args.join(' ')}: ended ${Math.round(tookMs)} ms after its work`)
    }
  })

  // Public case 079
  test('writes its complete output to a slow pipe', async (t) => {
    const many = await createTestDatabase()
    t.after(() => many.drop())
    const inMany = { cwd: folder.path, env: many.env }
    const input = [...madeCustomers({ good: 5000, bad: 0 })].join('')
    await runLatchkey(['customer', 'import', '-', '--format', 'csv'], { ...inMany, input })
    const list = startLatchkey(['customer', 'list'], inMany)
    list.child.stdout?.pause()
    // By now the process has buffered far more than a pipe holds.
    await sleep(2000)
    list.child.stdout?.resume()
    const { code, stdout } = await list.ended
    assert.equal(code, 0)
    assert.equal(new Set(stdout.match(/customer-\d+@example\.com/g)).size, 5000)
    assert.ok(stdout.endsWith('\n'))
  })
})

const hasTerminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')

describe('a command on a terminal of 80 columns', {
  skip: !hasTerminal && 'NOT TESTED: script of util-linux is not installed',
}, () => {
  test('prints no wider line', async () => {
    const { email } = await app.addCustomer()
    await app.login(email)
    await latchkey([
      'token',
      'create',
      email,
      '--name',
      'a bot',
      '--ability',
      'orders:read',
      '--ability',
      'a:b',
    ])
    for (const args of [
      ['doctor'],
      ['routes'],
      ['customer', 'list'],
      ['customer', 'show', email],
      ['token', 'list'],
      ['token', 'list', email],
      ['token', 'create', email, '--name', 'b', '--expires', 'tomorrow'],
      ['token', 'revoke'],
      ['customer', 'delete', email, '--yes'],
      ['customer', 'import', '--help'],
    ]) {
      const command = `stty cols 80; ${shellCommand(...args)}`
      const { env, cwd } = options()
      const { stdout } = await startProcess('script', ['--quiet', '--command', command, '/dev/null'], {
        cwd,
        env,
      }).ended
      assert.notEqual(stdout, '')
      assert.deepEqual(
        // A value without a space, such as an address, is not broken.
        stdout.split(/\r?\n/).filter((line) => line.length > 80 && line.trim().split(/\s+/).length > 2),
        [],
        args.join(' '),
      )
    }
  })
})
