import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Command } from 'commander'
import type { Operations } from '../src/adapters/cli/operations.ts'
import { createProgram } from '../src/adapters/cli/program.ts'
import { SETTINGS } from '../src/adapters/config/settings.ts'
import { ROWS } from '../verification/rows.ts'
import { hasHaProxy } from './support/haproxy.ts'
import { type RunningApp, startApp } from './support/running-app.ts'
import { startProcess, temporaryFolder } from './support/running-process.ts'

const root = join(import.meta.dirname, '..')
const text = readFileSync(join(root, 'docs/growing.md'), 'utf8')

/** Returns the fenced blocks of a language, in order. */
function blocks(language: string): readonly string[] {
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, code = '']) =>
    name === language ? [code] : [],
  )
}

function findNames(pattern: RegExp): readonly string[] {
  const names = [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))]
  assert.ok(names.length > 0, `no match for ${pattern}`)
  return names
}

test('the named settings exist', () => {
  const known: readonly string[] = [...SETTINGS.map(({ name }) => name), 'TEST_DATABASE_URL']
  const named = findNames(/(?:`|^|export )([A-Z][A-Z_]+)(?=`|=)/gm)
  assert.deepEqual(
    named.filter((name) => !known.includes(name)),
    [],
  )
})

test('the commands and their options exist', () => {
  const program = createProgram({ version: '0.0.0' } as Operations, process)
  for (const command of findNames(
    /latchkey ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?(?: --[a-z-]+)?)(?=[ `\n])/g,
  )) {
    let at: Command | undefined = program
    for (const word of command.split(' ')) {
      const option: boolean | undefined = at?.options.some(({ long }) => long === word)
      const next: Command | undefined = at?.commands.find((candidate) => candidate.name() === word)
      at = word.startsWith('--') && option ? at : next
    }
    assert.ok(at, `there is no latchkey ${command}`)
  }
})

test('the named rows of the proof exist', () => {
  for (const id of findNames(/(?:--row |Row )([A-Z]\d+\w*)/g)) {
    assert.ok(
      ROWS.some((row) => row.id === id),
      id,
    )
  }
})

test('the shown refusal of a standby is in the code', () => {
  const [line = ''] = blocks('text')
  const sentence = line.replace(/^latchkey: /, '').trim()
  assert.ok(
    readFileSync(join(root, 'src/adapters/postgres/connection/server-faults.ts'), 'utf8').includes(sentence),
  )
})

const skip = hasHaProxy() ? false : 'HAProxy is not installed'
test('HAProxy accepts the configuration for the primary without a warning', { skip }, async () => {
  const { path, remove } = await temporaryFolder()
  const file = join(path, 'haproxy.cfg')
  writeFileSync(file, blocks('haproxy')[0] ?? '')
  const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
  remove()
  assert.equal(status, 0, stderr)
  assert.doesNotMatch(stdout + stderr, /WARNING|ALERT/)
})

describe('on a database', () => {
  let app: RunningApp
  before(async () => {
    app = await startApp()
  })
  after(() => app.close())

  test('the named settings of PostgreSQL exist', async () => {
    const rows = await app.database.sql<{ name: string }>('select name from pg_settings')
    const known = rows.map(({ name }) => name)
    for (const name of findNames(/^\| `([a-z_]+)` /gm)) assert.ok(known.includes(name), name)
  })

  test('the command after a failover revokes only the tokens issued before it', async () => {
    const [one, other] = [await app.addCustomer(), await app.addCustomer()]
    const before = await app.login(one.email)
    const servesAgain = new Date(Date.now() + 1).toISOString()
    while (new Date().toISOString() <= servesAgain) await new Promise(setImmediate)
    const since = await app.login(other.email)
    const [command = ''] = blocks('sh').filter((block) => block.includes('--issued-before'))
    const input = command
      .replace('npx latchkey', `"${process.execPath}" bin/latchkey.js`)
      .replace(/\d{4}-\S+Z/, servesAgain)
    const env = { DATABASE_URL: app.database.url }
    const { code, stdout } = await startProcess('sh', ['-eu'], { cwd: root, env, input }).ended
    assert.deepEqual([code, stdout], [0, 'Revoked 1 token of all customers, on every instance.\n'])
    assert.equal((await app.call('/api/me', { token: before })).status, 401)
    assert.equal((await app.call('/api/me', { token: since })).status, 200)
  })
})
