import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Called, callAt } from '../../src/testing/call.ts'
import { createTestDatabase } from '../support/database.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { hasPromtool, promtoolFaults, readMetrics } from '../support/prometheus.ts'
import { onSqlite, postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'
import { listWorkers } from '../support/worker-processes.ts'

const WORKERS = 3
const SERVICE_SECRET = 'service-secret-of-the-tests-0123456789'

/** Workers on SQLite do not publish changes to each other. */
const UNCACHED: Record<string, string> = onSqlite ? { TOKEN_CACHE_TTL: '0s' } : {}

const suite = programSuite()

async function start(env: Record<string, string> = {}) {
  const { service, url } = await suite.start({ WORKERS: String(WORKERS), ...UNCACHED, ...env })
  const primary = service.child.pid ?? 0
  return { service, url, primary, workers: () => listWorkers(primary) }
}

/** Uses a new connection, so that any worker may get it. */
function call(url: string, path: string, options: Parameters<typeof callAt>[2] = {}): Promise<Called> {
  return callAt(url, path, { ...options, headers: { Connection: 'close' } })
}

async function login(url: string): Promise<string> {
  const { status, body } = await call(url, '/api/login', { body: { email: EMAIL, password: PASSWORD } })
  assert.equal(status, 200)
  return body.token
}

const isThere = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('several workers', () => {
  test('have a thread pool sized for HASHING_CONCURRENCY', {
    skip: process.platform !== 'linux',
  }, async () => {
    const { workers } = await start({ HASHING_CONCURRENCY: '6' })
    for (const worker of workers()) {
      const env = readFileSync(`/proc/${worker}/environ`, 'utf8').split('\0')
      assert.ok(env.includes('UV_THREADPOOL_SIZE=7'))
    }
  })

  test('share one address, and all refuse a token that one revoked', async () => {
    const { url, workers } = await start()
    assert.equal(workers().length, WORKERS)
    for (let round = 0; round < 5; round++) {
      const token = await login(url)
      const before = await Promise.all(Array.from({ length: 30 }, () => call(url, '/api/me', { token })))
      assert.ok(before.every(({ status }) => status === 200))
      assert.equal((await call(url, '/api/logout', { token })).status, 200)
      const later = await Promise.all(Array.from({ length: 30 }, () => call(url, '/api/me', { token })))
      assert.ok(later.every(({ status }) => status === 401))
    }
    if (onSqlite) return
    const [links] = await suite.database().sql<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and application_name = 'latchkey listener'`,
    )
    assert.equal(links?.n, WORKERS, 'each worker is an instance')
  })

  test('show on /ops the events of the primary and of all workers, each once', {
    skip: postgresAlone,
  }, async (t) => {
    const database = await createTestDatabase({ migrated: false })
    t.after(() => database.drop())
    const env = { ...database.env, OPS: 'on', SERVICE_TOKENS: `oncall[ops]=${SERVICE_SECRET}` }
    const { service, url, workers } = await start(env)
    t.after(async () => {
      service.child.kill('SIGKILL')
      await service.ended
    })
    const titles = async (): Promise<readonly string[]> => {
      const { body } = await call(url, '/ops/live', { method: 'GET', token: SERVICE_SECRET })
      return body.events.map(({ title }: { title: string }) => title)
    }
    const started = (all: readonly string[]) => all.filter((title) => title.startsWith('Started, version'))
    const first = await titles()
    assert.ok(first.includes('Migration applied'), String(first))
    assert.equal(started(first).length, 1, String(first))
    assert.ok(first.indexOf('Migration applied') < first.indexOf(started(first)[0] ?? ''))

    process.kill(workers()[0] ?? 0, 'SIGKILL')
    // Node may have passed a new connection to the killed worker until its end is known.
    await service.until(/"event":"worker\.started"/)
    for (let n = 0; n < 2 * WORKERS; n++)
      assert.equal((await titles()).filter((title) => title === 'Worker replaced').length, 1)
  })

  test('return the metrics of all workers, including ended ones, from any worker and from METRICS_PORT', async () => {
    const beganMs = Date.now()
    const env = { SERVICE_TOKENS: `tests=${SERVICE_SECRET}`, METRICS_PORT: '0' }
    const { service, url, workers } = await start(env)
    const [, own = ''] = await service.until(/"address":"([^"]+)","event":"metrics.started"/)
    const logins = { http_request_method: 'POST', http_route: '/api/login', http_response_status_code: '200' }
    const readAt = async (address: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${address}/metrics`, { headers: { Connection: 'close', ...headers } })
      assert.equal(response.status, 200)
      return (
        readMetrics(await response.text()).value('http_server_request_duration_seconds_count', logins) ?? 0
      )
    }
    for (let time = 1; time <= 6; time++) await login(url)
    assert.equal(await readAt(own), 6)
    for (let time = 1; time <= 4; time++)
      assert.equal(await readAt(url, { Authorization: `Bearer ${SERVICE_SECRET}` }), 6)
    assert.equal((await call(own, '/api/status', { method: 'GET' })).status, 404)
    const [first = 0] = workers()
    process.kill(first, 'SIGKILL')
    await service.until(/"event":"worker.started"/)
    await login(url)
    assert.equal(await readAt(own), 7)
    const text = await (await fetch(`${own}/metrics`)).text()
    const { value } = readMetrics(text)
    assert.equal(value('latchkey_worker_restarts_total'), 1)
    assert.equal(value('latchkey_ready'), 1)
    // That of the primary, which has not restarted.
    const startedMs = 1000 * (value('process_start_time_seconds') ?? 0)
    assert.ok(startedMs > beganMs - 2000 && startedMs < beganMs + 60_000, `${startedMs - beganMs}`)
    assert.equal(hasPromtool() ? promtoolFaults(text) : '', '')
  })

  test('are replaced when one does not respond', async () => {
    const { service, workers } = await start()
    const [first = 0] = workers()
    process.kill(first, 'SIGSTOP')
    await service.until(new RegExp(`Process ${first} has not responded.*"event":"worker\\.hung"`))
    await service.until(/"event":"worker.started"/)
    assert.ok(!workers().includes(first))
  })

  test('return the metrics of the others while one is suspended', async () => {
    const { url, workers } = await start({ SERVICE_TOKENS: `tests=${SERVICE_SECRET}` })
    const [still = 0] = workers()
    const headers = { Authorization: `Bearer ${SERVICE_SECRET}`, Connection: 'close' }
    process.kill(still, 'SIGSTOP')
    // Connections are distributed in turn, and the suspended worker does not respond to its connection.
    const responses = Array.from({ length: WORKERS }, () =>
      fetch(`${url}/metrics`, { headers, signal: AbortSignal.timeout(20_000) }),
    )
    const { status } = await Promise.any(responses)
    process.kill(still, 'SIGCONT')
    await Promise.allSettled(responses)
    assert.equal(status, 200)
  })

  test('are replaced when they exit', async () => {
    const { service, url, workers } = await start()
    const token = await login(url)
    const [first = 0] = workers()
    process.kill(first, 'SIGKILL')
    await until(() => workers().length === WORKERS && !workers().includes(first))
    await service.until(/"event":"worker.started"/)
    assert.match(service.stdout(), new RegExp(`"detail":"Process ${first} ended: SIGKILL."`))
    assert.equal((await call(url, '/api/me', { token })).status, 200)
  })

  test('are replaced once the system can start processes again, while the others keep serving', async () => {
    const failing = join(suite.folder(), 'failing.cjs')
    writeFileSync(
      failing,
      `const node = process.execPath
       process.on('SIGUSR2', () => {
         process.execPath = process.execPath === node ? '/nowhere/node' : node
       })`,
    )
    const { service, url, primary, workers } = await start({ NODE_OPTIONS: `--require ${failing}` })
    process.kill(primary, 'SIGUSR2')
    process.kill(workers()[0] ?? 0, 'SIGKILL')
    await service.until(/"detail":"A worker ended before it served: spawn [^"]*ENOENT/)
    assert.equal((await call(url, '/livez', { method: 'GET' })).status, 200)
    process.kill(primary, 'SIGUSR2')
    await until(() => workers().length === WORKERS)
  })

  test('exit even if one has just started', async () => {
    const { service, workers } = await start()
    const [first = 0] = workers()
    process.kill(first, 'SIGKILL')
    await until(() => workers().length === WORKERS && !workers().includes(first))
    const pids = workers()
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
    assert.ok(pids.every((pid) => !isThere(pid)))
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`finish requests in progress and exit with their primary on ${signal} to the process group`, {
      skip: postgresAlone,
    }, async () => {
      // The cost is so high that the verifications are still running when the signal arrives.
      const { service, url, primary, workers } = await start({
        BCRYPT_COST: '14',
        LOGIN_LIMIT_ACCOUNT: '10/15m',
        // With some seconds more, it is longer than any timer of node.
        DRAIN_DEADLINE: '3650d',
      })
      const pids = workers()
      const body = { email: EMAIL, password: PASSWORD }
      const logins = [1, 2].map(() => call(url, '/api/login', { body }))
      await until(async () => (await suite.loginsBegun()) === logins.length)
      // A terminal and systemd signal every process.
      for (const pid of [...pids, primary]) process.kill(pid, signal)
      for (const { status } of await Promise.all(logins)) assert.equal(status, 200)
      const { code, stdout, stderr } = await service.ended
      assert.equal(code, 0)
      assert.match(stdout, /"event":"service.stopped"/)
      assert.doesNotMatch(stderr, /Warning/)
      assert.ok(pids.every((pid) => !isThere(pid)))
    })
  }

  test('exit immediately at a second signal', async () => {
    const { service, url, workers } = await start({ DRAIN_DELAY: '1m' })
    const pids = workers()
    service.child.kill('SIGTERM')
    await service.until(/"event":"service.stopping"/)
    assert.equal((await call(url, '/livez', { method: 'GET' })).status, 200)
    service.child.kill('SIGINT')
    assert.equal((await service.ended).code, 1)
    await until(() => pids.every((pid) => !isThere(pid)))
  })

  test('exit with their primary even if one is suspended', async () => {
    const { service, workers } = await start({ DRAIN_DEADLINE: '100ms' })
    const [still = 0, ...others] = workers()
    process.kill(still, 'SIGSTOP')
    service.child.kill('SIGTERM')
    const { code, stdout } = await service.ended
    assert.equal(code, 0)
    assert.match(stdout, /"event":"service.stopped"/)
    assert.deepEqual([still, ...others].filter(isThere), [])
  })

  test('do not outlive a killed primary', async () => {
    const { primary, workers } = await start()
    const pids = workers()
    process.kill(primary, 'SIGKILL')
    await until(() => pids.every((pid) => !isThere(pid)))
  })

  test('that cannot start make the start fail in one line', async () => {
    const crash = join(suite.folder(), 'crash.cjs')
    writeFileSync(crash, "if (require('node:cluster').isWorker) process.exit(7)")
    const service = suite.launch({
      WORKERS: '2',
      ...UNCACHED,
      BCRYPT_COST: '10',
      NODE_OPTIONS: `--require ${crash}`,
    })
    const { code, stderr } = await service.ended
    assert.equal(code, 1)
    assert.equal(stderr, 'latchkey: A worker ended before it served: exit code 7.\n')
  })

  test('with refused settings or database make the start fail', async () => {
    const spoil = join(suite.folder(), 'spoil.cjs')
    const env = onSqlite
      ? { DATA_DIR: '/dev/null' }
      : { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' }
    writeFileSync(
      spoil,
      `if (require('node:cluster').isWorker) Object.assign(process.env, ${JSON.stringify(env)})`,
    )
    const service = suite.launch({
      WORKERS: '2',
      ...UNCACHED,
      BCRYPT_COST: '10',
      NODE_OPTIONS: `--require ${spoil}`,
    })
    const { code, stderr } = await service.ended
    assert.equal(code, 1)
    assert.match(stderr, /latchkey: A worker ended before it served: exit code 1\.\n$/)
  })
})
