import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort } from '../../src/adapters/embedded-postgres/server-address.ts'
import { docker, hasContainerEngine, importNpm } from '../support/container-engine.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { block, SHOP_TUTORIAL as TUTORIAL, unusedBlocks } from '../support/documented-blocks.ts'
import { ownProject } from '../support/own-program.ts'
import { install, npm, packLatchkey } from '../support/packed.ts'
import { HASH } from '../support/program-suite.ts'
import { PASSWORD } from '../support/running-app.ts'
import { startProcess, temporaryFolder } from '../support/running-process.ts'
import { until } from '../support/until.ts'

/** The files of the tutorial, in the order of its code blocks of TypeScript. */
const PROGRAMS = ['database.ts', 'orders.ts', 'routes.ts', 'main.ts', 'routes.test.ts', 'postgres.test.ts']
const files = () => ({
  'sql/0001_orders.sql': block(TUTORIAL, 'sql'),
  ...Object.fromEntries(PROGRAMS.map((name, n) => [name, block(TUTORIAL, 'ts', n)])),
})
const [CREATE, START, TRY, TEST_MEMORY, TEST_POSTGRES, BUILD, ADD] = [0, 1, 2, 3, 4, 5, 6].map((n) =>
  block(TUTORIAL, 'sh', n),
) as [string, string, string, string, string, string, string]

describe('The shop of the tutorial', () => {
  let project: Awaited<ReturnType<typeof ownProject>>
  let database: TestDatabase
  before(async () => {
    project = await ownProject(files())
    database = await createTestDatabase({ migrated: false })
  })
  after(async () => {
    await database.drop()
    project.remove()
  })
  const start = (command: string, env = {}) => {
    const [program = '', ...args] = command.trim().split(' ')
    assert.equal(program, 'node')
    return startProcess(process.execPath, args, {
      cwd: project.path,
      env: { DATABASE_URL: database.url, BCRYPT_COST: '10', PORT: '0', ...env },
    })
  }

  test('passes its test in memory', async () => {
    const { code, stdout } = await start(TEST_MEMORY, { DATABASE_URL: '' }).ended
    assert.equal(code, 0, stdout)
    assert.match(stdout, /pass 1$/m)
  })

  test('passes its test on PostgreSQL, repeatedly, and not without a database', async () => {
    const command = TEST_POSTGRES.trim().split('\n').at(-1) ?? ''
    for (let run = 0; run < 2; run++) {
      const { code, stdout } = await start(command).ended
      assert.equal(code, 0, stdout)
      assert.match(stdout, /pass 1$/m)
    }
    const { code, stdout } = await start(command, { DATABASE_URL: '' }).ended
    assert.equal(code, 1)
    assert.match(stdout, /Set DATABASE_URL\./)
  })

  test('takes an order and its payment, and exports it, by the documented calls', async (t) => {
    const [secret = '', command = ''] = START.trim().split('\n')
    const [, SHOP_WEBHOOK_SECRET = ''] = /^export SHOP_WEBHOOK_SECRET='(.*)'$/.exec(secret) ?? []
    const without = await start(command).ended
    assert.deepEqual([without.code, /Set SHOP_WEBHOOK_SECRET/.test(without.stderr)], [1, true])
    const service = start(command, { SHOP_WEBHOOK_SECRET })
    t.after(async () => {
      service.child.kill('SIGTERM')
      await service.ended
    })
    const [, url = ''] = await service.until(/running at (\S+)/)
    await database.sql(
      "insert into customers (id, email, password_hash, created_at) values (gen_random_uuid(), 'demo@example.com', $1, now())",
      [HASH],
    )
    const input = TRY.replaceAll('http://127.0.0.1:3000', url).replace('the printed password', PASSWORD)
    const { code, stdout, stderr } = await startProcess('sh', ['-eu'], { cwd: project.path, input }).ended
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^\{"success":true\}\nid,product,quantity,paid\n[0-9a-f-]{36},lamp,2,true\n$/)
  })
})

const skip = hasContainerEngine() ? false : 'no container engine is running on this machine'

describe('The image of the tutorial', { skip }, () => {
  const name = `latchkey-shop-${randomBytes(4).toString('hex')}`
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let database: TestDatabase
  before(async () => {
    folder = await temporaryFolder()
    database = await createTestDatabase({ migrated: false })
    await importNpm(`${name}-node`)
  })
  after(async () => {
    await docker('rm', '--force', name).catch(() => {})
    for (const tag of [name, `${name}-node`]) await docker('rmi', '--force', tag).catch(() => {})
    await database.drop()
    folder.remove()
  })

  test('is built by the documented steps and serves', async (t) => {
    const project = join(folder.path, 'shop')
    const { tarball } = await packLatchkey(folder.path)
    const [enter, prepare, copy, add] = CREATE.trim().split('\n')
    assert.equal(enter, 'mkdir ../shop && cd ../shop')
    assert.equal(prepare, 'npm init -y && npm pkg set type=module')
    assert.equal(copy, `cp ../latchkey/${basename(tarball)} .`)
    assert.equal(add, `npm install ./${basename(tarball)} valibot tsx`)
    await npm(project, ['init', '-y'])
    await npm(project, ['pkg', 'set', 'type=module'])
    cpSync(tarball, join(project, basename(tarball)))
    const unreachable = await install(project, [`./${basename(tarball)}`, 'valibot', 'tsx'])
    if (unreachable !== null) return t.skip(unreachable)
    mkdirSync(join(project, 'sql'))
    const written = {
      ...files(),
      Dockerfile: block(TUTORIAL, 'dockerfile'),
      '.dockerignore': 'node_modules\ndata\n',
    }
    for (const [file, text] of Object.entries(written)) writeFileSync(join(project, file), text)

    const [build = '', run = ''] = BUILD.trim().split('\n')
    assert.match(build, /^docker build --tag shop \.$/)
    assert.match(run, /^docker run --rm --network host /)
    await docker(
      'build',
      '--network',
      'host',
      '--build-arg',
      `NODE_IMAGE=${name}-node`,
      '--tag',
      name,
      project,
    )
    const port = await freePort()
    const settings = [
      `DATABASE_URL=${database.url}`,
      `PORT=${port}`,
      'HOST=127.0.0.1',
      'SHOP_WEBHOOK_SECRET=secret',
    ]
    const env = settings.flatMap((setting) => ['--env', setting])
    await docker('run', '--detach', '--name', name, '--network', 'host', ...env, name)
    const isReady = async () =>
      (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok === true
    await until(isReady).catch(async (error: unknown) => {
      const logs = await startProcess('docker', ['logs', name], { cwd: project }).ended
      throw new Error(logs.stdout + logs.stderr, { cause: error })
    })
    const added = await startProcess('sh', ['-euc', ADD.replace(' shop ', ` ${name} `)], {
      cwd: project,
      env: { DATABASE_URL: database.url },
    }).ended
    assert.equal(added.code, 0, added.stderr)
  })
})

test('every code block of the tutorial is used here', () => {
  block(TUTORIAL, 'dockerfile')
  assert.deepEqual(unusedBlocks([TUTORIAL]), [])
})
