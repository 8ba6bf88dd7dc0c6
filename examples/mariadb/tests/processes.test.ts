import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { type MariadbServer, startMariadb, withoutMariadb } from './mariadb-server.ts'
import { type Program, startProgram } from './serving.ts'

const EMAIL = 'ana@example.com'
const PASSWORD = 'correct horse 9'

describe('Processes on one MariaDB:', { skip: withoutMariadb }, () => {
  let server: MariadbServer
  let database: string
  const running = new Set<Program>()
  before(async () => {
    server = await startMariadb()
    database = await server.createDatabase('latchkey')
    const args = ['customer', 'add', EMAIL, '--password-stdin']
    assert.equal((await startProgram(database, { args, input: PASSWORD }).ended).code, 0)
  })
  afterEach(async () => {
    for (const program of running) await program.kill('SIGKILL')
    running.clear()
  })
  after(() => server?.stop())

  function start(env: Record<string, string> = {}): Program {
    const program = startProgram(database, { env })
    running.add(program)
    return program
  }

  test('two refuse at once what the other one revokes, with the default settings of the cache', async () => {
    const [one, other] = await Promise.all([start().url, start().url])
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

  test('a command that revokes returns after every service has applied it', async () => {
    const url = await start().url
    const token = await logIn(url)
    assert.equal(await statusOf(url, '/api/me', token), 200)
    assert.equal((await startProgram(database, { args: ['token', 'revoke', EMAIL] }).ended).code, 0)
    assert.equal(await statusOf(url, '/api/me', token), 401)
  })

  test('one token is active after many concurrent logins at both', async () => {
    const [one, other] = await Promise.all([start().url, start().url])
    const tokens = await Promise.all(Array.from({ length: 24 }, (_, i) => logIn(i % 2 === 0 ? one : other)))
    const statuses = await Promise.all(tokens.map((token) => statusOf(one, '/api/me', token)))
    assert.equal(statuses.filter((status) => status === 200).length, 1)
  })

  test('workers refuse at once what another one revokes', async () => {
    const url = await start({ WORKERS: '2' }).url
    const token = await logIn(url)
    assert.equal(await statusOf(url, '/api/logout', token), 200)
    const later = await Promise.all(Array.from({ length: 20 }, () => statusOf(url, '/api/me', token)))
    assert.deepEqual(new Set(later), new Set([401]))
  })

  test('a service stops in order, and one without a database exits with one line', async () => {
    const program = start()
    await program.url
    assert.equal((await program.kill('SIGTERM')).code, 0)
    const { code, output } = await startProgram('mysql://root@127.0.0.1:1/latchkey').ended
    assert.deepEqual([code, /^latchkey: MariaDB cannot be used: .*ECONNREFUSED.*$/m.test(output)], [1, true])
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
