import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { newServiceSecret } from '../../src/adapters/node-crypto/service-secrets.ts'
import { callAt } from '../../src/testing/call.ts'
import { DEPLOY } from '../support/balancer.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { type Systemd, startSystemd, systemdMissing } from '../support/systemd.ts'
import { openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const UNIT = 'latchkey.service'
const AUDIT_LOG = '/var/log/latchkey/audit.jsonl'
const LOGROTATE = '/etc/logrotate.d/latchkey'
/** Longer than systemd takes to reach its default limit of five starts. */
const AWAY_MS = 60_000

const skip = process.env.TEST_LONG
  ? postgresAlone || systemdMissing()
  : 'it takes two minutes: TEST_LONG=1 runs it'

describe('the deployed unit in a real systemd', { skip }, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let database: TestDatabase
  let proxy: TcpProxy
  let systemd: Systemd
  let port = 0
  const suffix = randomBytes(6).toString('hex')
  const [old, next] = [`old_${suffix}`, `next_${suffix}`] as const
  const set = (settings: Record<string, string>) => {
    const lines = Object.entries({ PORT: `${port}`, HOST: '127.0.0.1', ...settings })
    writeFileSync(join(folder.path, 'etc/latchkey.env'), lines.map((line) => `${line.join('=')}\n`).join(''))
  }
  const state = () => systemd.show(UNIT, 'ActiveState', 'NRestarts', 'Result')
  const isReady = async () =>
    (await callAt(`http://127.0.0.1:${port}`, '/readyz', { method: 'GET' })).status === 200

  before(async () => {
    folder = await temporaryFolder()
    database = await createTestDatabase()
    proxy = await openTcpProxy(database.url)
    port = await freePort()
    const at = (name: string) => join(folder.path, name)
    for (const name of ['opt/node_modules', 'etc']) mkdirSync(at(name), { recursive: true })
    for (const part of ['sql', 'package.json'])
      cpSync(join(ROOT, part), join(at('opt'), part), { recursive: true })
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const project = join(ROOT, 'tsconfig.build.json')
    execFileSync(process.execPath, [compiler, '--project', project, '--outDir', join(at('opt'), 'dist')])
    for (const page of ['adapters/http/docs-page/public', 'adapters/http/ops-page/public'])
      cpSync(join(ROOT, 'src', page), join(at('opt'), 'dist', page), { recursive: true })
    writeFileSync(join(at('etc'), 'database-url'), proxy.url, { mode: 0o600 })
    const unit = readFileSync(join(DEPLOY, UNIT), 'utf8').replaceAll('/usr/bin/node', '/opt/node')
    // A container may not raise the file descriptor limit.
    writeFileSync(at(UNIT), unit.replace(/^LimitNOFILE=.*\n/m, ''))
    systemd = await startSystemd({
      '/opt/node': process.execPath,
      '/opt/latchkey': at('opt'),
      '/opt/latchkey/node_modules': join(ROOT, 'node_modules'),
      '/etc/latchkey': at('etc'),
      [`/etc/systemd/system/${UNIT}`]: at(UNIT),
      [LOGROTATE]: join(DEPLOY, 'latchkey.logrotate'),
    })
    await until(async () => (await systemd.run('systemctl', 'is-system-running')).startsWith('running'))
  })
  after(async () => {
    await systemd?.close()
    await proxy?.close()
    for (const role of [old, next]) await database?.sql(`drop role if exists ${role}`)
    await database?.drop()
    folder?.remove()
  })

  test('restarts until the database is back, even after a long outage', async (t) => {
    set({})
    proxy.refuse()
    await systemd.run('systemctl', 'start', UNIT)
    await sleep(AWAY_MS)
    await until(async () => Number((await state()).NRestarts) > 5)
    assert.notEqual((await state()).ActiveState, 'failed')
    const beganMs = performance.now()
    proxy.admit()
    await until(() => isReady().catch(() => false))
    t.diagnostic(`ready ${Math.round(performance.now() - beganMs)} ms after the database was back`)
    t.diagnostic(`${(await state()).NRestarts} restarts during the outage`)
  })

  test('restarts after a crash', async () => {
    const before = Number((await state()).NRestarts)
    await systemd.run('systemctl', 'kill', '--signal', 'SIGKILL', UNIT)
    await until(async () => Number((await state()).NRestarts) > before)
    await until(() => isReady().catch(() => false))
  })

  test('a reload rotates the service tokens and the credentials of the database', async () => {
    for (const role of [old, next]) await database.sql(`create role ${role} login superuser password 'p'`)
    const write = (role: string, secret: string) => {
      const url = Object.assign(new URL(proxy.url), { username: role, password: 'p' })
      writeFileSync(join(folder.path, 'etc/database-url'), url.href, { mode: 0o600 })
      writeFileSync(join(folder.path, 'etc/service-tokens'), `monitor=${secret}`, { mode: 0o600 })
    }
    const connections = async (role: string) =>
      (await database.sql('select from pg_stat_activity where usename = $1', [role])).length
    const status = async (token: string) =>
      (await callAt(`http://127.0.0.1:${port}`, '/api/status', { method: 'GET', token })).status
    const [first, second] = [newServiceSecret(), newServiceSecret()]
    set({ SERVICE_TOKENS_FILE: '/run/latchkey/service-tokens', AUDIT_LOG })
    write(old, first)
    await systemd.run('systemctl', 'restart', UNIT)
    await until(() => isReady().catch(() => false))
    assert.deepEqual([await status(first), await status(second)], [200, 401])
    assert.match(
      await systemd.run('sh', '-c', 'stat --format="%a %n" /run/latchkey/* /var/log/latchkey/*'),
      /^400 \S+database-url\n400 \S+service-tokens\n600 \S+audit\.jsonl\n/,
    )

    write(next, second)
    assert.equal(await systemd.run('systemctl', 'reload', UNIT), '')
    await until(async () => (await status(second)) === 200)
    assert.equal(await status(first), 401)
    await database.sql(`alter role ${old} nologin`)
    await database.sql('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [old])
    await until(async () => (await isReady()) && (await connections(next)) >= 3)
    assert.equal(await connections(old), 0)
    assert.equal((await state()).ActiveState, 'active')
  })

  test('logrotate rotates the audit log, whose next event is in a new file', async () => {
    assert.equal(await systemd.run('logrotate', '--force', '--state', '/run/rotated', LOGROTATE), '')
    await systemd.run('systemctl', 'reload', UNIT)
    await until(async () => (await systemd.run('cat', AUDIT_LOG)).includes('"service.tokens_set"'))
    assert.match(await systemd.run('cat', `${AUDIT_LOG}.1`), /"service\.tokens_set"/)
  })

  test('stops in order, and leaves no copy of a secret', async () => {
    await systemd.run('systemctl', 'stop', UNIT)
    const { ActiveState, Result } = await state()
    assert.deepEqual([ActiveState, Result], ['inactive', 'success'])
    assert.match(await systemd.run('ls', '/run/latchkey'), /No such file/)
    writeFileSync(join(folder.path, 'etc/database-url'), proxy.url, { mode: 0o600 })
  })

  test('fails immediately if settings are refused, even while it waits for the database', async () => {
    proxy.refuse()
    await systemd.run('systemctl', 'restart', UNIT)
    await until(async () => Number((await state()).NRestarts) > 1)
    set({ PORT: '70000' })
    await until(async () => (await state()).ActiveState === 'failed')
    await systemd.run('systemctl', 'reset-failed', UNIT)
    await systemd.run('systemctl', 'start', UNIT)
    assert.deepEqual(await state(), { ActiveState: 'failed', NRestarts: '0', Result: 'exit-code' })
  })
})
