import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { type Program, startProgram } from './serving.ts'

const EMAIL = 'ana@example.com'
const PASSWORD = 'correct horse 9'
const UNCACHED = { TOKEN_CACHE_TTL: '0s' }

describe('Processes on one file:', () => {
  let folder: string
  const running = new Set<Program>()
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-sqlite-'))
    const args = ['customer', 'add', EMAIL, '--password-stdin']
    assert.equal((await startProgram(folder, { args, input: PASSWORD }).ended).code, 0)
  })
  afterEach(async () => {
    for (const program of running) await program.kill('SIGKILL')
    running.clear()
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  function start(env: Record<string, string> = {}): Program {
    const program = startProgram(folder, { env })
    running.add(program)
    return program
  }

  test('two without a cache refuse at once what the other one revokes', async () => {
    const [one, other] = await Promise.all([start(UNCACHED).url, start(UNCACHED).url])
    for (let round = 0; round < 20; round++) {
      const [here, there] = round % 2 === 0 ? [one, other] : [other, one]
      const first = await logIn(here)
      assert.equal(await statusOf(there, '/api/me', first), 200)
      const second = await logIn(there)
      assert.equal(await statusOf(here, '/api/me', first), 401, 'a login elsewhere did not replace it')
      assert.equal(await statusOf(here, '/api/me', second), 200)
      assert.equal(await statusOf(there, '/api/logout', second), 200)
      assert.equal(await statusOf(here, '/api/me', second), 401, 'a logout elsewhere did not end it')
    }
  })

  test('one token is active after many concurrent logins at both', async () => {
    const [one, other] = await Promise.all([start(UNCACHED).url, start(UNCACHED).url])
    const tokens = await Promise.all(Array.from({ length: 24 }, (_, i) => logIn(i % 2 === 0 ? one : other)))
    const statuses = await Promise.all(tokens.map((token) => statusOf(one, '/api/me', token)))
    assert.equal(statuses.filter((status) => status === 200).length, 1)
  })

  test('one with a cache revokes exactly and excludes all others', async () => {
    const alone = start()
    const url = await alone.url
    const token = await logIn(url)
    for (let use = 0; use < 3; use++) assert.equal(await statusOf(url, '/api/me', token), 200)
    for (const env of [{}, UNCACHED]) {
      const { code, output } = await start(env).ended
      assert.equal(code, 1)
      assert.match(output, /^latchkey: Another service serves from .* TOKEN_CACHE_TTL=0s, each of them\.$/m)
    }
    assert.equal(await statusOf(url, '/api/logout', token), 200)
    assert.equal(await statusOf(url, '/api/me', token), 401)
    await alone.kill('SIGKILL')
    const uncached = start(UNCACHED)
    await uncached.url
    assert.equal((await start().ended).code, 1)
    assert.equal((await uncached.kill('SIGTERM')).code, 0)
    await start().url
  })

  test('a command that revokes returns after a service with a cache has applied it', async () => {
    const url = await start().url
    const token = await logIn(url)
    assert.equal(await statusOf(url, '/api/me', token), 200)
    assert.equal((await startProgram(folder, { args: ['token', 'revoke', EMAIL] }).ended).code, 0)
    assert.equal(await statusOf(url, '/api/me', token), 401)
  })

  test('acknowledged changes survive a killed process', async () => {
    const killed = start()
    const url = await killed.url
    const revoked = await logIn(url)
    const active = await logIn(url)
    await killed.kill('SIGKILL')
    const next = await start().url
    assert.deepEqual(
      [await statusOf(next, '/api/me', revoked), await statusOf(next, '/api/me', active)],
      [401, 200],
    )
  })

  test('workers serve without a cache, and are refused with one', async () => {
    const { code, output } = await start({ WORKERS: '2' }).ended
    assert.deepEqual([code, /needs TOKEN_CACHE_TTL=0s/.test(output)], [1, true])
    const url = await start({ WORKERS: '2', ...UNCACHED }).url
    const token = await logIn(url)
    assert.equal(await statusOf(url, '/api/logout', token), 200)
    const later = await Promise.all(Array.from({ length: 20 }, () => statusOf(url, '/api/me', token)))
    assert.deepEqual(new Set(later), new Set([401]))
  })

  test('concurrent starts create the schema once, and MIGRATE=off refuses an old one', async () => {
    const empty = join(folder, 'empty')
    const { code, output } = await startProgram(empty, { env: { MIGRATE: 'off' } }).ended
    assert.deepEqual(
      [code, /^latchkey: The schema lacks 0001_customers_and_login_tokens/m.test(output)],
      [1, true],
    )
    const all = await Promise.all([1, 2, 3].map(() => startProgram(empty, { args: ['migrate'] }).ended))
    assert.deepEqual(new Set(all.map((ended) => ended.code)), new Set([0]))
    assert.equal(all.filter((ended) => /^Applied 0001/m.test(ended.output)).length, 1)
    assert.equal(statSync(join(empty, 'latchkey.sqlite')).mode & 0o077, 0)
  })
})

async function call(url: string, path: string, init: RequestInit): Promise<Response> {
  return fetch(url + path, { method: 'POST', ...init, headers: { Connection: 'close', ...init.headers } })
}

async function logIn(url: string): Promise<string> {
  const body = JSON.stringify({ email: EMAIL, password: PASSWORD })
  const response = await call(url, '/api/login', { body, headers: { 'Content-Type': 'application/json' } })
  assert.equal(response.status, 200)
  return ((await response.json()) as { token: string }).token
}

async function statusOf(url: string, path: string, token: string): Promise<number> {
  return (await call(url, path, { headers: { Authorization: `Bearer ${token}` } })).status
}
