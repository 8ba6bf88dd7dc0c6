import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import * as v from 'valibot'
import { freePort } from '../src/adapters/embedded-postgres/server-address.ts'
import { route, ValidationFailed } from '../src/package/index.ts'
import { callAt } from '../src/testing/call.ts'
import { docker, hasContainerEngine } from './support/container-engine.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { assertShown, block, interrupt, unusedBlocks } from './support/documented-blocks.ts'
import { fencedBlocks } from './support/fenced-blocks.ts'
import { ownProgram, ownProject } from './support/own-program.ts'
import { HASH } from './support/program-suite.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from './support/running-app.ts'
import { type Ended, shellCommand, startProcess, temporaryFolder } from './support/running-process.ts'

const root = join(import.meta.dirname, '..')
const TUTORIAL = 'docs/tutorial/first-service.md'
const guide = (name: string) => `docs/how-to/${name}.md`

/** Code blocks that no test of this file uses, and what checks each instead. */
const CHECKED_ELSEWHERE: readonly (readonly [file: string, text: string, check: string])[] = [
  ['README.md', 'npm ci\nnpm start\n', 'tests/end-to-end/first-minute.test.ts runs npm start'],
  ['README.md', 'npm ci && npm test\n', 'this is a run of npm test'],
  [TUTORIAL, 'npm ci\nnpm pack\n', 'tests/deploy/installed.test.ts packs a checkout'],
  [
    TUTORIAL,
    'mkdir ../my-service && cd ../my-service\nnpm init -y && npm pkg set type=module\nnpm install ../latchkey/latchkey-0.2.0.tgz valibot tsx\n',
    'tests/deploy/installed.test.ts installs these packages',
  ],
  [TUTORIAL, fencedBlocks(TUTORIAL, 'json')[0] ?? '', 'tests/deploy/installed.test.ts compiles with it'],
  [guide('run-several-instances'), 'npm run cluster-demo\n', 'tests/deploy/cluster-demo.test.ts runs it'],
  [
    guide('run-behind-a-proxy'),
    'haproxy -c -f deploy/haproxy.cfg\n',
    'tests/deploy/settings.test.ts starts HAProxy with this file',
  ],
  [
    guide('call-the-api-from-a-client'),
    'npx latchkey openapi > openapi.json\nnpx openapi-typescript openapi.json --output api.d.ts\n',
    'tests/examples/clients.test.ts runs it',
  ],
  ...fencedBlocks(guide('call-the-api-from-a-client'), 'ts')
    .slice(0, 2)
    .map(
      (text) =>
        [guide('call-the-api-from-a-client'), text, 'tests/examples/clients.test.ts runs it'] as const,
    ),
  ...fencedBlocks(guide('verify-in-a-framework'), 'ts').map(
    (text) => [guide('verify-in-a-framework'), text, 'tests/verifiers/frameworks.test.ts runs it'] as const,
  ),
  [
    guide('upgrade'),
    'create index concurrently login_tokens_of_customer_idx on login_tokens (customer_id, created_at, id);\n',
    'tests/adapters/postgres/migrations.test.ts runs it',
  ],
  [
    guide('upgrade'),
    'alter table public.latchkey_migrations set schema app;\n',
    'tests/adapters/postgres/one-schema.test.ts runs it',
  ],
]

describe('The documented commands and programs', { concurrency: 3 }, () => {
  let app: RunningApp
  let empty: TestDatabase
  let other: TestDatabase
  before(async () => {
    app = await startApp({ env: { SERVICE_TOKENS: `status=${SERVICE_SECRET}` } })
    empty = await createTestDatabase({ migrated: false })
    other = await createTestDatabase({ migrated: false })
    await app.addCustomer({ email: 'demo@example.com' })
  })
  after(async () => {
    await app.close()
    await empty.drop()
    await other.drop()
  })

  /** Adapts documented lines to the machine: another address, database, password and email, and no npx. */
  function adapted(lines: string, { url = app.url, database = app.database.url, email = '' } = {}): string {
    return lines
      .replaceAll('http://127.0.0.1:3000', url)
      .replaceAll('postgres://latchkey:password@127.0.0.1:5432/latchkey', `'${database}'`)
      .replaceAll('the printed password', PASSWORD)
      .replaceAll('ana@example.com', email || 'ana@example.com')
      .replaceAll('npx latchkey', shellCommand())
  }
  /** Pastes lines into a shell with the settings of the running service. Rejects unless all succeed without a warning. */
  async function paste(
    lines: string,
    { cwd = root, env = {}, ...to }: Pasted = {},
  ): Promise<Pick<Ended, 'stdout' | 'stderr'>> {
    const { code, stdout, stderr } = await startProcess('sh', ['-eu'], {
      cwd,
      env: { DATABASE_URL: to.database ?? app.database.url, BCRYPT_COST: '10', ...env },
      input: adapted(lines, to),
    }).ended
    assert.equal(code, 0, stdout + stderr)
    return { stdout, stderr }
  }
  /** Starts the service of the last line, and stops it after the test. */
  async function serve(t: TestContext, lines: string, { cwd = root, env = {} }: Pasted = {}) {
    const service = startProcess('sh', ['-eu'], {
      cwd,
      env: { PORT: '0', BCRYPT_COST: '10', ...env },
      input: adapted(lines).replace(/(\S*node'? \S+.*)\n$/, 'exec $1\n'),
    })
    t.after(async () => {
      service.child.kill('SIGKILL')
      await service.ended
    })
    const [, url = ''] = await service.until(/running at (\S+)/)
    return { service, url }
  }

  test('of the quick start and of the tutorial print what is shown', async (t) => {
    const project = await ownProject({
      'routes.ts': block(TUTORIAL, 'ts', 0),
      'main.ts': block(TUTORIAL, 'ts', 1),
      'routes.test.ts': block(TUTORIAL, 'ts', 2),
    })
    t.after(() => project.remove())
    const cwd = project.path
    const { service, url } = await serve(t, block(TUTORIAL, 'sh', 2), { cwd })
    const [, password = ''] = await service.until(/password {3}(\S+)/)
    const curls = (lines: string) => paste(lines.replace('the printed password', password), { cwd, url })
    const quickStart = await curls(block('README.md', 'sh', 1))
    assertShown(quickStart.stdout, block('README.md', 'text'))
    const quotes = await curls(block(TUTORIAL, 'sh', 3))
    assertShown(quotes.stdout, block(TUTORIAL, 'text'))
    assert.match((await paste(block(TUTORIAL, 'sh', 4), { cwd })).stdout, /^# pass 1$|ℹ pass 1/m)
  })

  test('of the tutorial start a service for production', async (t) => {
    const project = await ownProject({
      'routes.ts': block(TUTORIAL, 'ts', 0),
      'main.ts': block(TUTORIAL, 'ts', 1),
    })
    t.after(() => project.remove())
    const env = { DATABASE_URL: other.url }
    const cwd = project.path
    const prepared = await paste(block(TUTORIAL, 'sh', 5), { cwd, database: other.url })
    assert.match(prepared.stdout, /^Applied 0001/m)
    const { service, url } = await serve(t, block(TUTORIAL, 'sh', 6), { cwd, env })
    const { stdout } = await paste(block(TUTORIAL, 'sh', 7), { cwd, url, database: other.url })
    assert.match(stdout, /401 on 50 of 50 new connections/)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  test('of the README run as printed and return 201 with the ability, 403 without, 422 for a wrong body', async (t) => {
    const cleo = await app.addCustomer({ email: 'cleo@example.com' })
    const folder = await ownProgram('my-service.ts', block('README.md', 'ts'))
    t.after(() => folder.remove())
    const env = { DATABASE_URL: app.database.url }
    const { service, url } = await serve(t, 'node --import tsx my-service.ts\n', { cwd: folder.path, env })
    await service.until(/^ {2}node --import tsx my-service\.ts customer add <email> {3}adds a customer$/m)
    const order = async (ability: string, body: object) =>
      callAt(url, '/api/orders', { token: await app.addToken(cleo, [ability]), body })
    const placed = await order('orders:write', { sku: 'a', quantity: 2 })
    assert.deepEqual(
      [placed.status, placed.body],
      [201, { success: true, ordered_by: 'cleo@example.com', sku: 'a', quantity: 2 }],
    )
    assert.equal((await order('orders:read', { sku: 'a', quantity: 2 })).status, 403)
    assert.equal((await order('orders:*', { sku: 'a', quantity: 0 })).status, 422)
  })

  test('of a route serve, list and document it, the last two without a database', async (t) => {
    const page = guide('add-a-route')
    const dora = await app.addCustomer({ email: 'dora@example.com' })
    const folder = await ownProgram('my-service.ts', block(page, 'ts'))
    t.after(() => folder.remove())
    const cwd = folder.path
    const { url } = await serve(t, block(page, 'sh', 0), { cwd, env: { DATABASE_URL: app.database.url } })
    const token = await app.addToken(dora, ['orders:read'])
    const read = (id: string) => callAt(url, `/api/orders/${id}`, { method: 'GET', token })
    assert.deepEqual((await read('42')).body, { success: true, id: '42', sku: 'lamp', quantity: 2 })
    assert.deepEqual((await read('43')).body.reason, 'not_found')

    // No server listens there.
    const listed = await paste(block(page, 'sh', 1), { cwd, database: 'postgres://127.0.0.1:1/none' })
    assert.match(listed.stdout, /^GET +\/api\/orders\/:id +customer +orders:read$/m)
    assert.equal(listed.stderr, '')
    const { paths } = JSON.parse(readFileSync(join(cwd, 'openapi.json'), 'utf8'))
    assert.deepEqual(paths['/api/orders/{id}'].get['x-abilities'], ['orders:read'])
  })

  for (const [page, name, tests] of [
    ['test-your-routes', 'my-service.test.ts', 1],
    ['replace-an-adapter', 'my-stores.test.ts', 50],
  ] as const) {
    test(`of ${page} are tests that pass`, async (t) => {
      const folder = await ownProgram(name, block(guide(page), 'ts', 0))
      t.after(() => folder.remove())
      const command = block(guide(page), 'sh', 0).replace('--test', '--test --test-reporter=tap')
      const { stdout } = await paste(command, { cwd: folder.path })
      assert.ok(Number(stdout.match(/^# pass (\d+)$/m)?.[1]) >= tests)
    })
  }

  test('of a test on a container pass', async (t) => {
    const text = block(guide('test-your-routes'), 'ts', 1)
    if (!hasContainerEngine()) return t.skip('no container engine is running on this machine')
    const image = process.env.TEST_POSTGRES_IMAGE ?? 'postgres:17'
    const isThere = await docker('image', 'inspect', image).catch(() => null)
    if (isThere === null) return t.skip(`the image ${image} is not on this machine`)
    const folder = await ownProgram('container.test.ts', text.replace('postgres:17', image))
    t.after(() => folder.remove())
    const { stdout } = await paste('node --import tsx --test --test-reporter=tap container.test.ts\n', {
      cwd: folder.path,
      // Set where the image that removes forgotten containers is missing.
      env: { TESTCONTAINERS_RYUK_DISABLED: process.env.TESTCONTAINERS_RYUK_DISABLED ?? 'false' },
    })
    assert.match(stdout, /^# pass 1$/m)
  })

  test('of a custom database start a service on it', async (t) => {
    const page = guide('replace-an-adapter')
    const folder = await ownProgram('my-database.ts', block(page, 'ts', 1))
    t.after(() => folder.remove())
    const { service, url } = await serve(t, block(page, 'sh', 1), { cwd: folder.path })
    const body = { email: 'ana@example.com', password: PASSWORD }
    assert.equal((await callAt(url, '/api/login', { body })).status, 401)
    service.child.kill('SIGTERM')
    assert.equal((await service.ended).code, 0)
  })

  test('of the import store the shown rows, and the dry run stores none', async (t) => {
    const page = guide('import-customers')
    const folder = await temporaryFolder()
    t.after(() => folder.remove())
    const cwd = folder.path
    writeFileSync(join(cwd, 'customers.csv'), block(page, 'csv'))
    const dryRun = await paste(block(page, 'sh', 0), { cwd })
    const imported = await paste(block(page, 'sh', 1), { cwd })
    assertShown(dryRun.stdout + imported.stdout, block(page, 'text'))
    assert.equal(dryRun.stderr + imported.stderr, '')
    const { stdout } = await paste(block(page, 'sh', 2), { cwd })
    assert.match(stdout, /ana@example\.com[\s\S]*bea@example\.com/)
  })

  test('of tokens create, list and revoke them', async () => {
    const [create, revoke] = [guide('create-service-tokens'), guide('revoke-tokens')]
    const email = 'finn@example.com'
    await app.addCustomer({ email })
    const created = await paste(block(create, 'sh', 0), { email })
    assert.match(created.stderr, /^The token importer. It is shown only once:\n$/)
    const named = () => app.call('/api/me', { token: created.stdout.trim() })
    assert.equal((await named()).status, 200)
    assert.match((await paste(block(create, 'sh', 1))).stdout, /^\S{30,}\n$/)
    assert.match(
      (await paste(block(create, 'sh', 2), { email })).stdout,
      / importer +active .* orders:read$/m,
    )
    const status = await paste(block(create, 'sh', 3), { env: { SERVICE_TOKEN: SERVICE_SECRET } })
    assert.equal(JSON.parse(status.stdout).online, true)

    const shown = block(revoke, 'text').replace('ana@example.com', email)
    assertShown((await paste(block(revoke, 'sh', 0), { email })).stdout, shown)
    assert.equal((await named()).status, 401)
    const session = await app.login(email)
    assertShown((await paste(block(revoke, 'sh', 1), { email })).stdout, shown)
    assert.equal((await app.call('/api/me', { token: session })).status, 401)
    await paste(block(revoke, 'sh', 2), { email })
    assert.equal((await callAt(app.url, '/api/login', { body: { email, password: PASSWORD } })).status, 401)
    assert.match((await paste(block(revoke, 'sh', 3))).stdout, /^Revoked \d+ tokens? of all customers/)
    assert.match((await paste(block(revoke, 'sh', 4), { email })).stdout, / importer +revoked /)
    await paste(block(revoke, 'sh', 5))
  })

  test('of sessions let a customer use several devices', async (t) => {
    const page = guide('manage-sessions')
    const env = Object.fromEntries([0, 2].map((n) => block(page, 'sh', n).trim().split('=')))
    const declare = new Function('route', `return ${block(page, 'ts')}`)
    const sessions = await startApp({ env, routes: () => [declare(route)] })
    t.after(() => sessions.close())
    const email = 'gina@example.com'
    await sessions.addCustomer({ email })
    const to = { url: sessions.url, database: sessions.database.url, email }
    const login = block(page, 'sh', 1).replace('correct horse battery staple', PASSWORD)
    const { token: phone } = JSON.parse((await paste(login, to)).stdout)
    const laptop = await sessions.login(email)
    const { body } = await sessions.call('/api/sessions', { method: 'GET', token: laptop })
    assert.deepEqual(
      body.sessions.map(({ device, current }: { device: string | null; current: boolean }) => [
        device,
        current,
      ]),
      [
        [null, true],
        ['Ana’s phone', false],
      ],
    )
    assert.deepEqual((await sessions.call('/api/transfers', { token: phone })).body.transferred, true)
    assert.match((await paste(block(page, 'sh', 3), to)).stdout, /Ana’s phone/)
    await paste(block(page, 'sh', 4), to)
  })

  test('of a forgotten password sends a link that works once', async (t) => {
    const page = guide('reset-passwords')
    const declare = new Function('route', 'v', 'ValidationFailed', `return ${block(page, 'ts', 1)}`)
    const resets = await startApp({ routes: () => [declare(route, v, ValidationFailed)] })
    t.after(() => resets.close())
    const { email } = await resets.addCustomer()
    const links: string[] = []
    const send = async (_: string, link: string) => void links.push(link)
    const bind = new Function('useCases', 'send', `${block(page, 'ts', 0)}; return mailReset`)
    const mailReset = bind(resets.service.useCases, send)
    await mailReset('nobody@example.com')
    await mailReset(email)
    assert.equal(links.length, 1)
    const body = { token: links[0]?.split('#')[1], new_password: 'another horse 10' }
    const reset = async () => (await resets.call('/api/password/reset', { body })).status
    assert.deepEqual([await reset(), await reset()], [200, 422])
  })

  test('of a verifier verify tokens, by an instance and by the database', async (t) => {
    const page = guide('verify-in-another-program')
    const [imports = '', ...lines] = block(page, 'ts', 0).split('\n')
    const program = `${imports.replace('latchkey/verify', join(root, 'src/package/verify.ts'))}
      const { TOKEN: token = '' } = process.env
      const clientAddress = '192.0.2.1'
      const refuse = () => process.exit(3)
      async function byInstance() {
        ${lines.join('\n')}
        await verifier.close()
        return verified.email
      }
      async function byDatabase() {
        ${block(page, 'ts', 1)}
        const verified = await verifier.verify(token)
        await verifier.close()
        return verified?.email
      }
      console.log(await byInstance(), await byDatabase())`
    const verified = await startApp({ env: { SERVICE_TOKENS: `billing[verify]=${SERVICE_SECRET}` } })
    const folder = await temporaryFolder()
    t.after(() => Promise.all([verified.close(), folder.remove()]))
    const { email } = await verified.addCustomer()
    const file = join(folder.path, 'program.mts')
    writeFileSync(file, program.replace('http://127.0.0.1:3000', verified.url))
    const run = (token: string) => {
      const env = { TOKEN: token, SERVICE_TOKEN: SERVICE_SECRET, DATABASE_URL: verified.database.url }
      return startProcess(process.execPath, ['--import', 'tsx', file], { cwd: root, env }).ended
    }
    const accepted = await run(await verified.login(email))
    assert.deepEqual([accepted.stdout, accepted.stderr], [`${email} ${email}\n`, ''])
    assert.equal((await run('no token')).code, 3)
  })

  test('of the check pass on a healthy service', async () => {
    const page = guide('check-an-installation')
    const [doctor, smoke] = await Promise.all([paste(block(page, 'sh', 0)), paste(block(page, 'sh', 1))])
    assert.match(doctor.stdout, /^ok {7}database\.link: /m)
    assertShown(smoke.stdout.trimEnd().split('\n').at(-1) ?? '', block(page, 'text').trimEnd())
    assert.equal(doctor.stderr + smoke.stderr, '')
  })

  test('of an upgrade find a current schema', async () => {
    const page = guide('upgrade')
    assert.match((await paste(block(page, 'sh', 0))).stdout, /^The schema is current\.$/m)
    assert.equal((await paste(block(page, 'sh', 1))).stdout, 'The schema is current.\n')
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    assert.equal((await paste(block(page, 'sh', 2))).stdout, `${version}\n`)
  })

  test('of a proxy let the audit log name the address of the client', async (t) => {
    const page = guide('run-behind-a-proxy')
    // The service prints the address of the proxy.
    const port = await freePort()
    const { service } = await serve(t, block(page, 'sh', 0), {
      env: { DATABASE_URL: app.database.url, PORT: `${port}` },
    })
    const refused = await paste(block(page, 'sh', 2), { url: `http://127.0.0.1:${port}` })
    assert.equal(JSON.parse(refused.stdout).reason, 'invalid_credentials')
    await service.until(/"address":"203\.0\.113\.7".*"event":"login\.failed"/)
  })

  test('of workers start as many processes, among which a logout is exact', async (t) => {
    const page = guide('run-several-workers')
    const env = { DATABASE_URL: app.database.url }
    const { service, url } = await serve(t, block(page, 'sh', 0).replace('WORKERS=4', 'WORKERS=2'), { env })
    await service.until(/2 workers/)
    const token = await app.login((await app.addCustomer()).email)
    const call = async (path: string) => (await callAt(url, path, { token })).status
    const statuses = () => Promise.all(Array.from({ length: 20 }, () => call('/api/me')))
    // A busy machine misses the deadline of a lookup: 503.
    const accepted = await statuses()
    assert.ok(accepted.includes(200) && !accepted.includes(401), `${accepted}`)
    let logout = await call('/api/logout')
    for (let attempt = 1; logout === 503 && attempt < 20; attempt++) logout = await call('/api/logout')
    assert.ok(logout === 200 || logout === 401)
    assert.ok(!(await statuses()).includes(200))
  })

  test('of four instances start four on one empty database, and a logout on one is applied by another', async () => {
    const page = guide('run-several-instances')
    const shell = startProcess('sh', ['-eu'], {
      cwd: root,
      env: { BCRYPT_COST: '4' },
      input: adapted(block(page, 'sh', 0), { database: empty.url })
        .replace('3001 3002 3003 3004', '0 0 0 0')
        // The test stops them by their ids, as Ctrl-C in a terminal would.
        .replace(' serve &', ' serve & echo "pid $!"'),
    })
    const services = () => [...shell.stdout().matchAll(/^pid (\d+)$/gm)].map(([, pid]) => Number(pid))
    try {
      await shell.until(/(service\.started[\s\S]*){4}/)
      await empty.sql(
        "insert into customers (id, email, password_hash, created_at) values (gen_random_uuid(), 'ana@example.com', $1, now())",
        [HASH],
      )
      const urls = [...shell.stdout().matchAll(/"address":"(http:[^"]+)"/g)].map(([, url = '']) => url)
      const lines = block(page, 'sh', 2)
        .replaceAll('http://127.0.0.1:3001', urls[0] ?? '')
        .replaceAll('http://127.0.0.1:3002', urls[1] ?? '')
        .replace('her password', PASSWORD)
      const [me, logout, again] = (await paste(lines)).stdout
        .split('\n')
        .map((line) => JSON.parse(line || '{}'))
      assert.equal(me.customer.email, 'ana@example.com')
      assert.deepEqual(logout, { success: true })
      assert.equal(again.reason, 'invalid_token')
    } catch (error) {
      // They run in the background of the shell and would outlive it.
      for (const pid of services()) killIfThere(pid)
      throw error
    }
    const stdout = await interrupt(shell, services())
    // Each migration ran once, in any of the four.
    assert.equal(stdout.match(/database\.migrated/g)?.length, readdirSync(join(root, 'sql')).length)
    assert.equal(stdout.match(/service\.stopped/g)?.length, 4)
  })

  test('of the client are lines of the example', () => {
    const client = readFileSync(join(root, 'examples/clients/typescript/client.ts'), 'utf8')
    for (const line of block(guide('call-the-api-from-a-client'), 'ts', 2).trim().split('\n'))
      assert.ok(client.includes(line), line)
  })
})

test('every other code block of README, tutorial and guides is on the list of those checked elsewhere', () => {
  assert.deepEqual(unusedBlocks(), CHECKED_ELSEWHERE.map(([file, text]) => [file, text]).sort())
})

interface Pasted {
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly url?: string
  readonly database?: string
  readonly email?: string
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}
