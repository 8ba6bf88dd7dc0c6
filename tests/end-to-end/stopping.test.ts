import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { comparable, sendRaw } from '../support/raw-http.ts'
import type { RunningProcess } from '../support/running-process.ts'
import { onSqlite, postgresAlone } from '../support/sqlite.ts'
import { openTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

/** Shorter than every delay that these services configure, and longer than an immediate exit on a busy machine. */
const AT_ONCE_MS = 30_000

const OPEN_CONNECTIONS =
  "select from pg_stat_activity where datname = current_database() and application_name like 'latchkey%'"

const suite = programSuite()
const startService = (env: Record<string, string>) => suite.start({ DRAIN_DEADLINE: '1m', ...env })

/** Sends the signal and returns how the process ended and how long that took. */
async function end({ child, ended }: RunningProcess, signal: NodeJS.Signals) {
  const beganMs = performance.now()
  child.kill(signal)
  const { code, stdout, stderr } = await ended
  return { code, stdout, stderr, tookMs: performance.now() - beganMs }
}

const LOGIN = JSON.stringify({ email: EMAIL, password: PASSWORD })
const loginBytes = `POST /api/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${LOGIN.length}\r\n\r\n${LOGIN}`

describe('a service that gets a stop signal', () => {
  // Public case 090
  test('finishes a login in progress and does not wait for idle connections', {
    skip: postgresAlone,
  }, async (t) => {
    // The cost is so high that the verification is still running when the signal arrives.
    const { service, port } = await startService({ BCRYPT_COST: '14', LOGIN_LIMIT_ACCOUNT: '10/15m' })
    const idle: Socket[] = []
    for (let i = 0; i < 3; i++) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')
      await once(socket, 'data')
      idle.push(socket.resume())
    }
    const login = sendRaw(port, loginBytes, { quietMs: AT_ONCE_MS })
    await until(async () => (await suite.loginsBegun()) === 1)
    const { code, stdout, tookMs } = await end(service, 'SIGTERM')
    const { responses, closed } = await login
    assert.deepEqual([responses.length, responses[0]?.status, closed], [1, 200, true])
    assert.equal(comparable(responses[0]).headers.Connection, 'close')
    assert.match(JSON.parse(responses[0]?.body ?? '{}').token, /^lk_/)
    await until(() => idle.every(({ closed: isClosed }) => isClosed))
    assert.match(stdout, /service\.stopped/)
    assert.equal(code, 0)
    assert.ok(tookMs < AT_ONCE_MS, `${tookMs} ms`)
    assert.deepEqual(await suite.database().sql(OPEN_CONNECTIONS), [])
    t.diagnostic(`ended ${Math.round(tookMs)} ms after the signal`)
  })

  // Public case 091
  test('resets no connection of clients that respect its readiness', async (t) => {
    const { service, port } = await startService({ DRAIN_DELAY: '1s' })
    const agent = new Agent({ keepAlive: true })
    t.after(() => agent.destroy())
    const status = (method: string, path: string, body = '') =>
      new Promise<number | string | undefined>((resolve) => {
        const headers = body === '' ? {} : { 'Content-Type': 'application/json' }
        request({ port, agent, method, path, headers })
          .on('response', (response) => response.resume().once('end', () => resolve(response.statusCode)))
          .on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
          .end(body)
      })
    // Renews the hash of the test before, whose verification takes a second.
    assert.equal(await status('POST', '/api/login', LOGIN), 200)
    const logins: Promise<number | string | undefined>[] = []
    let afterSignal = 0
    let isSignalled = false
    const load = (async () => {
      while ((await status('GET', '/readyz')) === 200) {
        logins.push(status('POST', '/api/login', LOGIN))
        if (isSignalled) afterSignal++
        await sleep(20)
      }
      // A balancer polls the readiness and sends requests until it notices the change.
      for (let i = 0; i < 10; i++, afterSignal++) {
        logins.push(status('POST', '/api/login', LOGIN))
        await sleep(20)
      }
    })()
    await sleep(500)
    isSignalled = true
    const { code, stderr } = await end(service, 'SIGTERM')
    await load
    const statuses = await Promise.all(logins)
    assert.deepEqual(
      statuses.filter((code) => code !== 200),
      [],
    )
    assert.ok(afterSignal > 0)
    assert.equal(code, 0)
    assert.doesNotMatch(stderr, /\n\s+at /)
    t.diagnostic(`${statuses.length} logins, ${afterSignal} of them after the signal, 0 resets`)
  })

  // Public case 091
  test('does not wait for balancers at Ctrl-C', async () => {
    const { service } = await startService({ DRAIN_DELAY: '1m' })
    const { code, tookMs } = await end(service, 'SIGINT')
    assert.equal(code, 0)
    assert.ok(tookMs < AT_ONCE_MS, `${tookMs} ms`)
  })

  // Public case 091
  test('shuts down while its database is unreachable', { skip: postgresAlone }, async (t) => {
    const proxy = await openTcpProxy(suite.database().url)
    t.after(() => proxy.close())
    const { service, port } = await startService({ DATABASE_URL: proxy.url })
    const login = { responses: 1, quietMs: AT_ONCE_MS }
    assert.equal((await sendRaw(port, loginBytes, login)).responses[0]?.status, 200)
    proxy.freeze()
    const waiting = sendRaw(port, loginBytes, login)
    // The query on the existing connection, or the startup message of a new one.
    await until(() => proxy.holdsBack('take_login_slot') || proxy.holdsBack('application_name\0latchkey\0'))
    const { code, stdout, stderr, tookMs } = await end(service, 'SIGTERM')
    assert.equal((await waiting).responses[0]?.status, 503)
    assert.equal(code, 0)
    assert.match(stdout, /service\.stopped/)
    assert.doesNotMatch(stdout + stderr, /Called end|\n\s+at /)
    assert.ok(tookMs < AT_ONCE_MS, `${tookMs} ms`)
    t.diagnostic(`ended ${Math.round(tookMs)} ms after the signal`)
  })

  // Public case 093
  test('logs a bug in a complete line before it exits', async () => {
    const { service, port } = await startService({})
    await suite.database().sql('alter table customers rename column password_hash to renamed')
    const { responses } = await sendRaw(port, loginBytes, { responses: 1, quietMs: AT_ONCE_MS }).finally(() =>
      suite.database().sql('alter table customers rename column renamed to password_hash'),
    )
    const { code, stdout } = await end(service, 'SIGTERM')
    assert.equal(responses[0]?.status, 500)
    assert.equal(code, 0)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.equal(
      lines.find(({ event }) => event === 'request.failed')?.code,
      onSqlite ? 'SQLITE_ERROR' : '42703',
    )
    assert.equal(lines.at(-1).event, 'service.stopped')
  })
})
