import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { type Called, callAt } from '../support/running-app.ts'

const WORKERS = 3
/** For what is only a question of time. */
const FOR_EVER_MS = 30_000

const suite = programSuite()

async function start(env: Record<string, string> = {}) {
  const { service, url } = await suite.start({ WORKERS: String(WORKERS), ...env })
  const primary = service.child.pid ?? 0
  return { service, url, primary, workers: () => childrenOf(primary) }
}

/** On a connection of its own, so that any of the workers may get it. */
function call(url: string, path: string, options: Parameters<typeof callAt>[2] = {}): Promise<Called> {
  return callAt(url, path, { ...options, headers: { Connection: 'close' } })
}

async function login(url: string): Promise<string> {
  const { status, body } = await call(url, '/api/login', { body: { email: EMAIL, password: PASSWORD } })
  assert.equal(status, 200)
  return body.token
}

/** The processes that a primary has started; the program that translates TypeScript is none of them. */
function childrenOf(primary: number): readonly number[] {
  const lines = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).trim().split('\n')
  return lines.flatMap((line) => {
    const [pid, parent] = line.trim().split(/\s+/)
    return Number(parent) === primary && line.includes('latchkey.js') ? [Number(pid)] : []
  })
}

const isThere = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function until(holds: () => boolean): Promise<void> {
  const endMs = performance.now() + FOR_EVER_MS
  while (!holds() && performance.now() < endMs) await sleep(20)
  assert.ok(holds(), 'it never comes')
}

describe('several workers', () => {
  test('serve one address, and what one revokes all refuse', async () => {
    const { url, workers } = await start()
    assert.equal(workers().length, WORKERS)
    for (let round = 0; round < 5; round++) {
      const token = await login(url)
      const kept = await Promise.all(Array.from({ length: 30 }, () => call(url, '/api/me', { token })))
      assert.ok(kept.every(({ status }) => status === 200))
      assert.equal((await call(url, '/api/logout', { token })).status, 200)
      const later = await Promise.all(Array.from({ length: 30 }, () => call(url, '/api/me', { token })))
      assert.ok(later.every(({ status }) => status === 401))
    }
    const [links] = await suite.database().sql<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
       where datname = current_database() and application_name = 'latchkey link'`,
    )
    assert.equal(links?.n, WORKERS, 'each worker is an instance')
  })

  test('are replaced when they end', async () => {
    const { service, url, workers } = await start()
    const token = await login(url)
    const [first = 0] = workers()
    process.kill(first, 'SIGKILL')
    await until(() => workers().length === WORKERS && !workers().includes(first))
    await service.until(/"event":"worker.started"/)
    assert.match(service.stdout(), new RegExp(`"detail":"Process ${first} ended: SIGKILL."`))
    assert.equal((await call(url, '/api/me', { token })).status, 200)
  })

  test('end also when one was only just started', async () => {
    const { service, workers } = await start()
    const [first = 0] = workers()
    process.kill(first, 'SIGKILL')
    await until(() => workers().length === WORKERS && !workers().includes(first))
    const pids = workers()
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
    assert.ok(pids.every((pid) => !isThere(pid)))
  })

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    test(`finish what they have begun and end with their primary on ${signal}, whoever else gets it`, async () => {
      // So dear that the logins are still being verified when the signal comes.
      const { service, url, primary, workers } = await start({ BCRYPT_COST: '13' })
      const pids = workers()
      const body = { email: EMAIL, password: PASSWORD }
      const logins = [1, 2].map(() => call(url, '/api/login', { body }))
      await sleep(100)
      // As a terminal and as systemd do.
      for (const pid of [...pids, primary]) process.kill(pid, signal)
      for (const { status } of await Promise.all(logins)) assert.equal(status, 200)
      const { code, stdout } = await service.ended
      assert.equal(code, 0)
      assert.match(stdout, /"event":"service.stopped"/)
      assert.ok(pids.every((pid) => !isThere(pid)))
    })
  }

  test('end at once at a second signal', async () => {
    const { service, url, workers } = await start({ DRAIN_DELAY: '1m' })
    const pids = workers()
    service.child.kill('SIGTERM')
    await service.until(/"event":"service.stopping"/)
    assert.equal((await call(url, '/livez', { method: 'GET' })).status, 200)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 1)
    await until(() => pids.every((pid) => !isThere(pid)))
  })

  test('do not outlive a primary that was killed', async () => {
    const { primary, workers } = await start()
    const pids = workers()
    process.kill(primary, 'SIGKILL')
    await until(() => pids.every((pid) => !isThere(pid)))
  })

  test('that cannot start end the start, in one line', async () => {
    const crash = join(suite.folder(), 'crash.cjs')
    writeFileSync(crash, "if (require('node:cluster').isWorker) process.exit(7)")
    const service = suite.launch({ WORKERS: '2', BCRYPT_COST: '10', NODE_OPTIONS: `--require ${crash}` })
    const { code, stderr } = await service.ended
    assert.equal(code, 1)
    assert.equal(stderr, 'latchkey: A worker ended before it served: exit code 7.\n')
  })
})
