import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { SETTINGS } from '../src/adapters/config/settings.ts'
import { STATUS_BY_REASON } from '../src/adapters/http/failure-reasons.ts'
import { callAt } from '../src/testing/call.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { fencedBlocks } from './support/fenced-blocks.ts'
import { ownProgram } from './support/own-program.ts'
import { PASSWORD, type RunningApp, startApp } from './support/running-app.ts'
import { startProcess, temporaryFolder } from './support/running-process.ts'

const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

const blocks = (section: string, language: string) => fencedBlocks('README.md', language, section)

/** Writes the program of the README into a temporary folder. */
function programOfTheRoute() {
  const [program = ''] = blocks('Declare a route', 'ts')
  assert.match(program, /from 'latchkey'/)
  return ownProgram('my-service.ts', program)
}

const SETTINGS_HEADER = /^\| name +\| default +\| meaning +\|$/m
const STATUS_HEADER = /^\| status +\| reason +\|$/m

function rows(header: RegExp): readonly (readonly string[])[] {
  const table = readme.slice(readme.search(header)).split('\n\n')[0] ?? ''
  return table
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    )
}

test('the table of settings matches the code, in its order', () => {
  assert.deepEqual(
    rows(SETTINGS_HEADER).map(([name, , meaning]) => [name, meaning]),
    SETTINGS.map(({ name, meaning }) => [`\`${name}\``, meaning]),
  )
  for (const [i, [, shown = '']] of rows(SETTINGS_HEADER).entries()) {
    assert.equal(shown.replaceAll('`', ''), SETTINGS[i]?.shownDefault.replaceAll('`', ''))
  }
})

test('the table of reasons has every reason with its status', () => {
  const documented = rows(STATUS_HEADER).flatMap(([status, reasons = '']) =>
    [...reasons.matchAll(/`([a-z_]+)`/g)]
      .map(([, reason]) => [reason, Number(status)])
      .filter(([reason]) => reason !== 'errors'),
  )
  assert.deepEqual(Object.fromEntries(documented), STATUS_BY_REASON)
})

describe('the commands', () => {
  let app: RunningApp
  let empty: TestDatabase
  before(async () => {
    app = await startApp()
    empty = await createTestDatabase({ migrated: false })
  })
  after(async () => {
    await app.close()
    await empty.drop()
  })

  test('of the two lines exist in the package', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    assert.deepEqual(blocks('Run it', 'sh'), ['npm ci && npm start\n', 'npm test\n'])
    assert.ok(scripts.start && scripts.test)
  })

  test('of the first login work when pasted', async () => {
    await app.addCustomer({ email: 'demo@example.com' })
    const lines = (blocks('The first login', 'sh')[0] ?? '')
      .replaceAll('http://127.0.0.1:3000', app.url)
      .replace('the password that was printed', PASSWORD)
    const { stdout, stderr } = await startProcess('sh', ['-eu'], { cwd: root, input: lines }).ended
    assert.equal(stderr, '')
    const [me, logout] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.equal(me.customer.email, 'demo@example.com')
    assert.deepEqual(logout, { success: true })
  })

  test('of the import store the shown rows, and the dry run stores none', async (t) => {
    const folder = await temporaryFolder()
    t.after(() => folder.remove())
    writeFileSync(join(folder.path, 'customers.csv'), blocks('Customers from elsewhere', 'csv')[0] ?? '')
    const lines = (blocks('Customers from elsewhere', 'sh')[0] ?? '').replaceAll(
      'npx latchkey',
      `'${process.execPath}' '${join(root, 'bin/latchkey.js')}'`,
    )
    const env = { DATABASE_URL: app.database.url }
    const { code, stdout, stderr } = await startProcess('sh', ['-eu'], {
      cwd: folder.path,
      env,
      input: lines,
    }).ended
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(
      stdout,
      'Dry run, nothing changed. New: 2, already there: 0, refused: 0.\nImported: 2, already there: 0, refused: 0.\n',
    )
  })

  test('of tokens for bots create, list and revoke one', async () => {
    // The import example adds this customer too.
    await app.database.sql("delete from customers where email = 'ana@example.com'")
    await app.addCustomer({ email: 'ana@example.com' })
    const input = blocks('Tokens for bots and scripts', 'sh')[0] ?? ''
    const env = { DATABASE_URL: app.database.url, BCRYPT_COST: '10' }
    const { stdout, stderr } = await startProcess('sh', ['-eu'], { cwd: root, env, input }).ended
    assert.match(stderr, /^The token importer. It is shown only once:\n$/)
    const [secret = '', , row, revoked] = stdout.split('\n')
    assert.match(row ?? '', / importer +active .* orders:read$/)
    assert.equal(revoked, 'Revoked 1 token of ana@example.com, on every instance.')
    assert.equal((await app.call('/api/me', { token: secret })).status, 401)
  })

  test('of the route run as printed and return 201 with the ability, 403 without, 422 for a wrong body', async () => {
    const bea = await app.addCustomer({ email: 'cleo@example.com' })
    const folder = await programOfTheRoute()
    const service = startProcess(process.execPath, ['--import', 'tsx', 'my-service.ts'], {
      cwd: folder.path,
      env: { DATABASE_URL: app.database.url, PORT: '0' },
    })
    try {
      const url = (await service.until(/running at (\S+)/))[1]
      await service.until(/^ {2}node --import tsx my-service\.ts customer add <email> {3}adds a customer$/m)
      const order = async (abilities: readonly string[], body: object) => {
        const response = await fetch(`${url}/api/orders`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${await app.addToken(bea, abilities)}`,
            'Content-Type': 'application/json',
          },
          body: JSON.stringify(body),
        })
        return { status: response.status, body: await response.json() }
      }
      assert.deepEqual(await order(['orders:write'], { sku: 'a', quantity: 2 }), {
        status: 201,
        body: { success: true, ordered_by: 'cleo@example.com', sku: 'a', quantity: 2 },
      })
      assert.equal((await order(['orders:read'], { sku: 'a', quantity: 2 })).status, 403)
      assert.equal((await order(['orders:*'], { sku: 'a', quantity: 0 })).status, 422)
    } finally {
      service.child.kill('SIGTERM')
      await service.ended
      folder.remove()
    }
  })

  test('of the documentation print the route and its document without a database', async (t) => {
    const folder = await programOfTheRoute()
    t.after(() => folder.remove())
    const input = blocks('Routes that document themselves', 'sh')[0] ?? ''
    // No server listens there.
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/none' }
    const { code, stdout, stderr } = await startProcess('sh', ['-eu'], { cwd: folder.path, env, input }).ended
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^POST +\/api\/orders +customer +orders:write$/m)
    const { paths } = JSON.parse(readFileSync(join(folder.path, 'openapi.json'), 'utf8'))
    assert.deepEqual(paths['/api/orders'].post['x-abilities'], ['orders:write'])
  })

  for (const [section, tests] of [
    ['Test your routes', 1],
    ['Swap an adapter', 50],
  ] as const) {
    test(`of "${section}" are tests that pass`, async (t) => {
      const folder = await ownProgram('my.test.ts', blocks(section, 'ts')[0] ?? '')
      t.after(() => folder.remove())
      const { code, stdout } = await startProcess(
        process.execPath,
        ['--import', 'tsx', '--test', '--test-reporter=tap', 'my.test.ts'],
        { cwd: folder.path },
      ).ended
      assert.equal(code, 0, stdout)
      assert.ok(Number(stdout.match(/^# pass (\d+)$/m)?.[1]) >= tests)
    })
  }

  test('of the backend start a service on it', async (t) => {
    const folder = await ownProgram('my-database.ts', blocks('Swap an adapter', 'ts')[1] ?? '')
    const env = { PORT: '0', BCRYPT_COST: '10' }
    const args = ['--import', 'tsx', 'my-database.ts']
    const service = startProcess(process.execPath, args, { cwd: folder.path, env })
    t.after(async () => {
      service.child.kill('SIGKILL')
      await service.ended
      folder.remove()
    })
    const [, url = ''] = await service.until(/running at (\S+)/)
    const body = { email: 'ana@example.com', password: PASSWORD }
    assert.equal((await callAt(url, '/api/login', { body })).status, 401)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  test('of the check pass on a healthy service', async () => {
    const lines = (blocks('Check a deployment', 'sh')[0] ?? '')
      .replaceAll('http://127.0.0.1:3000', app.url)
      .replace('the password that was printed', PASSWORD)
    const env = { DATABASE_URL: app.database.url, BCRYPT_COST: '10' }
    const { code, stdout, stderr } = await startProcess('sh', ['-eu'], { cwd: root, env, input: lines }).ended
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^ok {7}database\.link: /m)
    assert.match(stdout, /401 on 50 of 50 new connections/)
  })

  test('of four instances start four on one empty database', async () => {
    const [demo, instances = ''] = blocks('Run four instances', 'sh')
    // A separate test runs the demo.
    assert.equal(demo, 'npm run cluster-demo\n')
    assert.ok(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts['cluster-demo'])
    const lines = instances
      .replace(/postgres:\/\/\S+/, `'${empty.url}'`)
      .replace('3001 3002 3003 3004', '0 0 0 0')
      // The test stops them by their ids, as Ctrl-C in a terminal would.
      .replace('npx latchkey serve &', `"${process.execPath}" bin/latchkey.js serve & echo "pid $!"`)
    const shell = startProcess('sh', ['-eu'], { cwd: root, input: lines })
    const services = () => [...shell.stdout().matchAll(/^pid (\d+)$/gm)].map(([, pid]) => Number(pid))
    try {
      await shell.until(/(service\.started[\s\S]*){4}/)
      for (const pid of services()) process.kill(pid, 'SIGINT')
    } catch (error) {
      // They run in the background of the shell and would outlive it.
      for (const pid of services()) killIfThere(pid)
      throw error
    }
    const { stdout } = await shell.ended
    // Each migration ran once, in any of the four.
    assert.equal(stdout.match(/database\.migrated/g)?.length, readdirSync(join(root, 'sql')).length)
    assert.equal(stdout.match(/service\.stopped/g)?.length, 4)
  })
})

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}
