import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runLatchkey, startLatchkey, startProcess, temporaryFolder } from '../support/running-process.ts'
import { postgresAlone } from '../support/sqlite.ts'

describe('the first minute on the embedded PostgreSQL', { skip: postgresAlone }, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  before(async () => {
    folder = await temporaryFolder()
  })
  after(() => folder.remove())

  test('a first start prints lines that work when pasted, and Ctrl-C stops service and database', async (t) => {
    const beganMs = performance.now()
    const service = startLatchkey([], { cwd: folder.path, env: { PORT: '0' } })
    await service.until(/Ctrl-C/)
    t.diagnostic(`first start: ${Math.round(performance.now() - beganMs)} ms`)

    const welcome = service.stderr()
    assert.match(welcome, /Latchkey is running at http:\/\/127\.0\.0\.1:\d+\n/)
    assert.ok(welcome.includes(join(folder.path, 'data')))
    const lines = /( {4}TOKEN=\$\([\s\S]*?)\n\n/.exec(welcome)?.[1] ?? ''
    const pasted = await startProcess('sh', ['-eu'], { cwd: folder.path, input: lines }).ended
    assert.equal(pasted.stderr, '')
    const [me, logout, again] = pasted.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.equal(me.customer.email, 'demo@example.com')
    assert.deepEqual(me.token.abilities, ['*'])
    assert.deepEqual(logout, { success: true })
    assert.equal(again.reason, 'invalid_token')
    assert.match(welcome, /^ {4}docs {7}http:\/\/127\.0\.0\.1:\d+\/docs$/m)

    const password = /password {3}(\S+)/.exec(welcome)?.[1] ?? ''
    assert.ok(password.length >= 16)
    assert.equal(service.stdout().includes(password), false, 'the password is printed only to stderr')
    for (const line of service.stdout().trim().split('\n'))
      assert.equal(typeof JSON.parse(line).event, 'string')

    const stoppedMs = performance.now()
    service.child.kill('SIGINT')
    const { code } = await service.ended
    t.diagnostic(`Ctrl-C to the end: ${Math.round(performance.now() - stoppedMs)} ms`)
    assert.equal(code, 0)
    assert.equal(existsSync(join(folder.path, 'data/postgres/postmaster.pid')), false)
  })

  test('a command alone starts and stops the database', async () => {
    const { code, stdout } = await runLatchkey(['customer', 'list'], { cwd: folder.path })
    assert.equal(code, 0)
    assert.match(stdout, /demo@example\.com/)
    assert.equal(existsSync(join(folder.path, 'data/postgres/postmaster.pid')), false)
  })

  test('a command that only reads or changes data creates no database, and says where it looked', async () => {
    const elsewhere = await temporaryFolder()
    try {
      for (const args of [
        ['customer', 'list'],
        ['customer', 'show', 'a@b'],
        ['customer', 'password', 'a@b', '--password-stdin'],
        ['token', 'list'],
        ['token', 'revoke', '--issued-before', '1h'],
        ['token', 'prune'],
        ['migrate', '--check'],
      ]) {
        const { code, stdout, stderr } = await runLatchkey(args, {
          cwd: elsewhere.path,
          input: 'correct horse 9',
        })
        assert.deepEqual([code, stdout], [1, ''], args.join(' '))
        assert.ok(stderr.startsWith(`latchkey: There is no database in ${elsewhere.path}/data. `), stderr)
        assert.equal(stderr.split('\n').length, 2)
      }
      assert.deepEqual(readdirSync(elsewhere.path), [])
    } finally {
      elsewhere.remove()
    }
  })

  test('no PG variable of the shell changes the embedded connection', async () => {
    for (const env of [
      { PGSSLMODE: 'require' },
      { PGSSLMODE: 'prefer' },
      { PGSSLNEGOTIATION: 'direct' },
      { PGOPTIONS: '-c search_path=nowhere', PGCLIENT_ENCODING: 'LATIN1', PGREPLICATION: 'database' },
      { PGHOST: '192.0.2.1', PGPORT: '1', PGUSER: 'u', PGDATABASE: 'd', PGPASSWORD: 'p', PGAPPNAME: 'x' },
      { NODE_PG_FORCE_NATIVE: '1' },
    ] as Record<string, string>[]) {
      const { code, stderr } = await runLatchkey(['customer', 'list'], { cwd: folder.path, env })
      assert.deepEqual([code, stderr], [0, ''], Object.keys(env).join())
    }
  })

  test('no variable of the shell changes how the database is created', async (t) => {
    const { path, remove } = await temporaryFolder()
    t.after(remove)
    const env = {
      ...{ PGPORT: '1', PGDATA: '/nonexistent', PGSERVICE: 'none', PGPASSFILE: '/nonexistent' },
      ...{ PGSSLROOTCERT: '/nonexistent', PGOPTIONS: '-c default_transaction_read_only=on' },
      ...{ PGTZ: 'Mars/Phobos', TZ: 'Mars/Phobos', LC_ALL: 'xx_XX.UTF-8', LANG: 'xx_XX' },
    }
    const { code, stderr } = await runLatchkey(['migrate'], { cwd: path, env })
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('a later start creates no customer, and commands use the database of the running service', async (t) => {
    const beganMs = performance.now()
    const service = startLatchkey([], { cwd: folder.path, env: { PORT: '0' } })
    await service.until(/Ctrl-C/)
    t.diagnostic(`later start: ${Math.round(performance.now() - beganMs)} ms`)
    assert.doesNotMatch(service.stderr(), /password|TOKEN/)
    const url = /http:\/\/\S+/.exec(service.stderr())?.[0]

    const add = await runLatchkey(
      ['customer', 'add', 'Ana@Example.com', '--name', 'Ana', '--password-stdin'],
      {
        cwd: folder.path,
        input: 'correct horse 9\n',
      },
    )
    assert.equal(add.code, 0, add.stderr)
    const login = async (password: string) => {
      const body = JSON.stringify({ email: 'ana@example.com', password })
      const response = await fetch(`${url}/api/login`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body,
      })
      return { status: response.status, body: (await response.json()) as { token: string } }
    }
    const { body, status } = await login('correct horse 9')
    assert.equal(status, 200)
    const me = () =>
      fetch(`${url}/api/me`, { method: 'POST', headers: { Authorization: `Bearer ${body.token}` } })
    assert.equal((await me()).status, 200)

    const disable = await runLatchkey(['customer', 'disable', 'ana@example.com'], { cwd: folder.path })
    assert.equal(disable.code, 0, disable.stderr)
    assert.equal((await me()).status, 401, 'applied once the command ends')
    assert.equal((await login('correct horse 9')).status, 401)

    const second = await runLatchkey(['serve'], { cwd: folder.path, env: { PORT: '0' } })
    assert.equal(second.code, 1)
    assert.match(second.stderr, /^latchkey: .*data.*\n$/)

    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })
})

test('the first start creates no customer with NODE_ENV=production', { skip: postgresAlone }, async () => {
  const folder = await temporaryFolder()
  try {
    const service = startLatchkey([], { cwd: folder.path, env: { PORT: '0', NODE_ENV: 'production' } })
    await service.until(/Ctrl-C/)
    assert.doesNotMatch(service.stderr(), /demo|password/)
    service.child.kill('SIGINT')
    assert.equal((await service.ended).code, 0)
    const { stdout } = await runLatchkey(['customer', 'list'], { cwd: folder.path })
    assert.doesNotMatch(stdout, /demo/)
  } finally {
    folder.remove()
  }
})

// Public case 092
test('npm start forwards signals and exits with the service', { skip: postgresAlone }, async () => {
  const folder = await temporaryFolder()
  try {
    const prefix = join(import.meta.dirname, '../..')
    const npm = startProcess('npm', ['start', '--prefix', prefix], {
      cwd: folder.path,
      env: { PORT: '0', DATA_DIR: join(folder.path, 'data') },
    })
    await npm.until(/Ctrl-C/)
    npm.child.kill('SIGTERM')
    const { stdout, code, signal } = await npm.ended
    assert.match(stdout, /service\.stopped/)
    // npm reports the signal either by its exit code or by ending with the signal.
    assert.ok(code === 0 || code === 143 || signal === 'SIGTERM', `${code} ${signal}`)
    assert.equal(existsSync(join(folder.path, 'data/postgres/postmaster.pid')), false)
  } finally {
    folder.remove()
  }
})

test('the version equals that of the package', { skip: postgresAlone }, async () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  const { code, stdout } = await runLatchkey(['--version'], { cwd: import.meta.dirname })
  assert.deepEqual([code, stdout], [0, `${version}\n`])
})
