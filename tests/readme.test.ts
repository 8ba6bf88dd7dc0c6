import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { SETTINGS } from '../src/adapters/config/settings.ts'
import { STATUS_OF } from '../src/adapters/http/errors.ts'
import { tokenSecrets } from '../src/adapters/node-crypto/token-secrets.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { PASSWORD, type RunningApp, startApp } from './support/running-app.ts'
import { startProcess } from './support/running-process.ts'

const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** The fenced blocks of a section, in order. */
function blocks(section: string, language: string): readonly string[] {
  const text = readme.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? ''
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, code]) =>
    name === language ? [code as string] : [],
  )
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

test('the table of settings is that of the code, in its order', () => {
  assert.deepEqual(
    rows(SETTINGS_HEADER).map(([name, , meaning]) => [name, meaning]),
    SETTINGS.map(({ name, meaning }) => [`\`${name}\``, meaning]),
  )
  for (const [i, [, shown = '']] of rows(SETTINGS_HEADER).entries()) {
    assert.equal(shown.replaceAll('`', ''), SETTINGS[i]?.shownDefault.replaceAll('`', ''))
  }
})

test('the table of reasons has every reason with its status', () => {
  const told = rows(STATUS_HEADER).flatMap(([status, reasons = '']) =>
    [...reasons.matchAll(/`([a-z_]+)`/g)]
      .map(([, reason]) => [reason, Number(status)])
      .filter(([reason]) => reason !== 'errors'),
  )
  assert.deepEqual(Object.fromEntries(told), STATUS_OF)
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

  test('of the two lines are those of the package', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    assert.deepEqual(blocks('Run it', 'sh'), ['npm ci && npm start\n', 'npm test\n'])
    assert.ok(scripts.start && scripts.test)
  })

  test('of the first login work as pasted', async () => {
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

  test('of the route run as printed: 201 with the ability, 403 without, 422 for a wrong body', async () => {
    const file = join(root, `my-service-${process.pid}.ts`)
    writeFileSync(file, blocks('Declare a route', 'ts')[0] ?? '')
    const service = startProcess(process.execPath, ['--import', 'tsx', file], {
      cwd: root,
      env: { DATABASE_URL: app.database.url, PORT: '0' },
    })
    try {
      const url = (await service.until(/running at (\S+)/))[1]
      const order = async (abilities: readonly string[], body: object) => {
        const response = await fetch(`${url}/api/orders`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${await namedToken(abilities)}`,
            'Content-Type': 'application/json',
          },
          body: JSON.stringify(body),
        })
        return { status: response.status, body: await response.json() }
      }
      assert.deepEqual(await order(['orders:write'], { sku: 'a', quantity: 2 }), {
        status: 201,
        body: { success: true, ordered_by: 'bea@example.com', sku: 'a', quantity: 2 },
      })
      assert.equal((await order(['orders:read'], { sku: 'a', quantity: 2 })).status, 403)
      assert.equal((await order(['orders:*'], { sku: 'a', quantity: 0 })).status, 422)
    } finally {
      service.child.kill('SIGTERM')
      await service.ended
      ;(await import('node:fs')).rmSync(file, { force: true })
    }
  })

  test('of four instances bring four up on one empty database', async () => {
    const lines = (blocks('Run four instances', 'sh')[0] ?? '')
      .replace(/postgres:\/\/\S+/, `'${empty.url}'`)
      .replace('3001 3002 3003 3004', '0 0 0 0')
      // So that the test can end them by their ids, as a terminal's Ctrl-C would.
      .replace('npx latchkey serve &', `"${process.execPath}" bin/latchkey.js serve & echo "pid $!"`)
    const shell = startProcess('sh', ['-eu'], { cwd: root, input: lines })
    await shell.until(/(service\.started[\s\S]*){4}/)
    for (const [, pid] of shell.stdout().matchAll(/^pid (\d+)$/gm)) process.kill(Number(pid), 'SIGINT')
    const { stdout } = await shell.ended
    // Each migration once, whoever of the four was first.
    assert.equal(stdout.match(/database\.migrated/g)?.length, readdirSync(join(root, 'sql')).length)
    assert.equal(stdout.match(/service\.stopped/g)?.length, 4)
  })

  async function namedToken(abilities: readonly string[]): Promise<string> {
    const { secret, digest } = tokenSecrets({ prefix: 'lk' }).issue()
    await app.database.sql(
      `insert into customers (id, email, created_at, updated_at) values (gen_random_uuid(), 'bea@example.com', now(), now()) on conflict do nothing`,
    )
    await app.database.sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
       select gen_random_uuid(), id, 'bot', decode($1, 'hex'), $2, now() from customers where email = 'bea@example.com'`,
      [digest, abilities],
    )
    return secret
  }
})
