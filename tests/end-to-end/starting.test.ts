import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client } from 'pg'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  type Ended,
  runLatchkey,
  shellCommand,
  startLatchkey,
  startProcess,
  temporaryFolder,
} from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let database: TestDatabase
let taken: Server
before(async () => {
  folder = await temporaryFolder()
  database = await createTestDatabase({ migrated: false })
  taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
})
after(async () => {
  taken.close()
  await database.drop()
  folder.remove()
})

function takenPort(): string {
  const address = taken.address()
  return typeof address === 'object' && address !== null ? String(address.port) : ''
}

function refusedInOneLine({ code, stdout, stderr }: Ended, pattern: RegExp): void {
  assert.match(stderr, /^latchkey: [^\n]+\n$/)
  assert.match(stderr, pattern)
  assert.doesNotMatch(stderr, /\n\s+at /)
  assert.equal(stdout, '')
  assert.equal(code, 1)
}

test('a start that is blocked exits at a signal', {
  skip: postgresAlone,
}, async (t) => {
  const fresh = await createTestDatabase({ migrated: false })
  // Acts as another instance whose migration hangs.
  const other = new Client({ connectionString: fresh.url })
  t.after(async () => {
    await other.end()
    await fresh.drop()
  })
  await other.connect()
  await other.query('select pg_advisory_lock(7241865325823964)')
  const env = { PORT: '0', DATABASE_URL: fresh.url }
  const service = startLatchkey(['serve'], { cwd: folder.path, env })
  const waiting = `
    select from pg_locks join pg_database on pg_database.oid = database
     where locktype = 'advisory' and not granted and datname = current_database()`
  await until(async () => (await fresh.sql(waiting)).length > 0)
  service.child.kill('SIGTERM')
  const { code, stdout } = await service.ended
  assert.equal(code, 1)
  assert.match(stdout, /"event":"service.ended_at_once"/)
})

describe('a start fails in one line with exit code 1', () => {
  const run = (env: Record<string, string>) =>
    runLatchkey(['serve'], { cwd: folder.path, env: { PORT: '0', ...env } })

  // Public case 093
  test('when the port is taken, before it creates files', async () => {
    refusedInOneLine(await run({ PORT: takenPort() }), /EADDRINUSE/)
    assert.deepEqual(readdirSync(folder.path), [])
  })

  for (const workers of ['1', '2'])
    test(`when the port of the metrics is taken, by the name of its setting, with WORKERS=${workers}`, async () => {
      const env = { ...database.env, METRICS_PORT: takenPort(), WORKERS: workers }
      refusedInOneLine(await run(env), /^latchkey: Metrics: .*EADDRINUSE.* METRICS_HOST and METRICS_PORT /)
    })

  test('when the address does not belong to this machine', async () => {
    refusedInOneLine(await run({ HOST: '192.0.2.1' }), /EADDRNOTAVAIL/)
  })

  // Public case 093
  test('when no database is reachable', { skip: postgresAlone }, async () => {
    refusedInOneLine(
      await run({ DATABASE_URL: 'postgres://u:secret-of-mine@127.0.0.1:1/d' }),
      /127\.0\.0\.1:1/,
    )
  })

  // Public case 071
  test('when the server at the database address never responds', {
    skip: postgresAlone,
  }, async (t) => {
    const silent = createServer((socket) => socket.resume().on('error', () => {})).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    t.after(() => silent.close())
    const { port } = silent.address() as AddressInfo
    refusedInOneLine(
      await run({ DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/d` }),
      new RegExp(`127\\.0\\.0\\.1:${port} cannot be reached`),
    )
  })

  // A terminal merges standard output and standard error, and node writes to it differently than to a pipe.
  const terminal = 'script'
  const about = spawnSync(terminal, ['--version'], { encoding: 'utf8' }).stdout ?? ''
  // Public case 093
  test('on a terminal', {
    skip: postgresAlone || (about.includes('util-linux') ? false : 'script of util-linux is not installed'),
  }, async () => {
    for (const [env, pattern] of [
      [{ PORT: takenPort() }, /EADDRINUSE/],
      [{ PORT: '0', DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d' }, /127\.0\.0\.1:1 cannot be reached/],
      [{ PORT: 'x' }, /PORT: /],
    ] as const) {
      const args = ['--quiet', '--return', '--command', shellCommand('serve'), '/dev/null']
      const { code, stdout } = await startProcess(terminal, args, { cwd: folder.path, env }).ended
      assert.match(stdout, /^latchkey: [^\r\n]+\r\n$/)
      assert.match(stdout, pattern)
      assert.equal(code, 1)
    }
  })

  test('when the optional packages are not installed', { skip: postgresAlone }, async (t) => {
    const root = join(import.meta.dirname, '../..')
    const copy = await temporaryFolder()
    t.after(() => copy.remove())
    const packages = join(copy.path, 'node_modules')
    for (const part of ['bin', 'src', 'sql', 'package.json'])
      cpSync(join(root, part), join(copy.path, part), { recursive: true })
    mkdirSync(packages)
    for (const name of readdirSync(join(root, 'node_modules')).filter((name) => name !== '@node-rs'))
      symlinkSync(join(root, 'node_modules', name), join(packages, name))
    cpSync(join(root, 'node_modules/@node-rs/bcrypt'), join(packages, '@node-rs/bcrypt'), { recursive: true })
    const args = [join(copy.path, 'bin/latchkey.js'), 'serve']
    const env = { ...database.env, PORT: '0' }
    const ended = await startProcess(process.execPath, args, { cwd: folder.path, env }).ended
    refusedInOneLine(ended, /Run npm ci without --omit=optional, on this machine\.\n$/)
  })

  test('when the database rejects the password, without printing it', { skip: postgresAlone }, async () => {
    const url = new URL(database.url)
    url.username = 'nobody_of_this_name'
    url.password = 'secret-of-mine'
    const ended = await run({ DATABASE_URL: url.href })
    refusedInOneLine(ended, /nobody_of_this_name|password|authentication/)
    assert.doesNotMatch(ended.stderr, /secret-of-mine/)
  })

  test('when the schema is outdated and MIGRATE is off', async () => {
    refusedInOneLine(
      await run({ ...database.env, MIGRATE: 'off' }),
      /0001_customers_and_login_tokens.* Run the command migrate first\./,
    )
  })
})

// Public case 077
describe('the printed address is reachable', () => {
  const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address }) => address === '::1'),
  )
  const noIpv6 = hasIpv6 ? false : 'this machine has no address ::1'
  for (const [host, printed, reached, skip] of [
    [undefined, '127.0.0.1', ['127.0.0.1'], false],
    ['127.0.0.1', '127.0.0.1', ['127.0.0.1'], false],
    ['localhost', '(127.0.0.1|[::1])', ['localhost'], false],
    ['0.0.0.0', '0.0.0.0', ['127.0.0.1'], false],
    ['::1', '[::1]', ['[::1]'], noIpv6],
    ['::', '[::]', ['127.0.0.1', '[::1]', 'localhost'], noIpv6],
  ] as const) {
    test(host === undefined ? 'with HOST unset' : `with HOST=${host}`, { skip }, async (t) => {
      const env = { ...database.env, PORT: '0', ...(host === undefined ? {} : { HOST: host }) }
      const service = startLatchkey([], { cwd: folder.path, env })
      t.after(() => service.child.kill('SIGKILL'))
      const [, url = ''] = await service.until(/running at (\S+)/)
      const { hostname, port } = new URL(url)
      assert.ok(printed.split(/[(|)]/).includes(hostname), url)
      assert.notEqual(port, '0')
      for (const name of reached)
        assert.equal((await fetch(`http://${name}:${port}/livez`)).status, 200, name)
      assert.equal(
        JSON.parse(
          service
            .stdout()
            .split('\n')
            .find((line) => line.includes('service.started')) ?? '',
        ).address,
        url,
      )
      service.child.kill('SIGINT')
      assert.equal((await service.ended).code, 0)
    })
  }

  test('unless the machine lacks ::1, which is reported in one line', {
    skip: hasIpv6 ? 'this machine has an address ::1' : false,
  }, async () => {
    const env = { ...database.env, PORT: '0', HOST: '::1' }
    refusedInOneLine(await runLatchkey([], { cwd: folder.path, env }), /EADDRNOTAVAIL|EAFNOSUPPORT/)
  })
})

test('all invalid settings are reported together', async (t) => {
  const env = { PORT: '70000', TOKEN_TTL: '60', HOST: 'a b', SERVICE_TOKENS: 'a=too-short-secret' }
  const { code, stderr, ms } = await runLatchkey(['serve'], { cwd: folder.path, env })
  t.diagnostic(`${Math.round(ms)} ms, the start of node included`)
  assert.equal(code, 1)
  for (const name of Object.keys(env)) assert.match(stderr, new RegExp(`^latchkey: ${name}: `, 'm'))
  assert.equal(stderr.trim().split('\n').length, 4)
  assert.doesNotMatch(stderr, /too-short-secret|70000/)
})

// Public case 039, proof row H11
test('five instances on an empty database all start, and one of them migrates', async (t) => {
  const rounds = Number(process.env.TEST_H11_ROUNDS ?? 2)
  for (let round = 0; round < rounds; round++) {
    const empty = await createTestDatabase({ migrated: false })
    const services = Array.from({ length: 5 }, () =>
      startLatchkey([], {
        cwd: folder.path,
        // Without a cache this also holds for a database without invalidations.
        env: { PORT: '0', TOKEN_CACHE_TTL: '0s', ...empty.env },
      }),
    )
    await Promise.all(services.map((service) => service.until(/service\.started/)))
    for (const service of services) {
      assert.doesNotMatch(service.stderr(), /demo|password/)
      service.child.kill('SIGTERM')
    }
    const ended = await Promise.all(services.map((service) => service.ended))
    assert.deepEqual(
      ended.map(({ code }) => code),
      [0, 0, 0, 0, 0],
    )
    assert.equal(ended.filter(({ stdout }) => stdout.includes('database.migrated')).length, 1)
    await empty.drop()
  }
  t.diagnostic(`${rounds} rounds of 5 instances, 0 failed`)
})

test('wrong usage ends with exit code 2', async () => {
  for (const args of [['frobnicate'], ['serve', '--frobnicate'], ['customer', 'add']]) {
    const { code, stderr } = await runLatchkey(args, { cwd: folder.path })
    assert.equal(code, 2, args.join(' '))
    assert.doesNotMatch(stderr, /\n\s+at /)
  }
})
