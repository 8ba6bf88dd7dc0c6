import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { operationsOf } from '../support/openapi.ts'
import { ownProgram } from '../support/own-program.ts'
import { runLatchkey, startProcess, temporaryFolder } from '../support/running-process.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
before(async () => {
  folder = await temporaryFolder()
})
after(() => folder.remove())

const latchkey = (command: string, env: Readonly<Record<string, string>> = {}) =>
  runLatchkey([command], { cwd: folder.path, env })

describe('the route commands without a database', () => {
  test('list every route in the order of its declaration', async () => {
    const { code, stdout, stderr } = await latchkey('routes')
    assert.deepEqual([code, stderr], [0, ''])
    assert.deepEqual(
      stdout
        .trim()
        .split('\n')
        .slice(0, 18)
        .map((line) => line.split(/ +/)),
      [
        ['METHOD', 'PATH', 'AUTH', 'ABILITIES', 'OR', 'SCOPES'],
        ['POST', '/api/login', 'none'],
        ['POST', '/api/me', 'customer'],
        ['POST', '/api/logout', 'customer'],
        ['GET', '/api/status', 'service', 'status'],
        ['GET', '/api/sessions', 'customer'],
        ['DELETE', '/api/sessions/:id', 'customer'],
        ['DELETE', '/api/sessions', 'customer'],
        ['POST', '/api/password', 'customer'],
        ['GET', '/livez', 'none'],
        ['GET', '/readyz', 'none'],
        ['POST', '/introspect', 'service', 'introspect'],
        ['POST', '/revoke', 'none'],
        ['GET', '/forward-auth', 'customer'],
        ['GET', '/verifiers', 'service', 'verify'],
        ['GET', '/metrics', 'service', 'metrics'],
        ['GET', '/openapi.json', 'none'],
        ['GET', '/', 'none'],
      ],
    )
  })

  test('list the pages without their files, which only --json lists', async () => {
    const env = { OPS: 'on' }
    const { stdout } = await latchkey('routes', env)
    assert.match(stdout, /^GET +\/docs +none$/m)
    assert.match(stdout, /^GET +\/ops +none$/m)
    assert.doesNotMatch(stdout, /page\.js/)
    const json = await runLatchkey(['routes', '--json'], { cwd: folder.path, env })
    const paths = JSON.parse(json.stdout).routes.map(({ path }: { path: string }) => path)
    assert.ok(paths.includes('/docs/page.js') && paths.includes('/ops/page.js'))
  })

  test('omit the routes that DOCS=off disables', async () => {
    assert.doesNotMatch((await latchkey('routes', { DOCS: 'off' })).stdout, /docs|openapi/)
  })

  test('print the document with the public address', async () => {
    for (const [env, url] of [
      [{}, 'http://127.0.0.1:3000'],
      [{ HOST: '::1', PORT: '3001' }, 'http://[::1]:3001'],
      [{ PUBLIC_URL: 'https://api.example.com/', TRUST_PROXY: '1', DOCS: 'off' }, 'https://api.example.com'],
    ] as const) {
      const { code, stdout, stderr } = await latchkey('openapi', env)
      assert.deepEqual([code, stderr], [0, ''])
      const document = JSON.parse(stdout)
      assert.deepEqual(document.servers, [{ url }])
      assert.equal(operationsOf(document).length, 10)
    }
  })

  test('are refused with an invalid setting', async () => {
    const { code, stdout, stderr } = await latchkey('routes', { PORT: 'many' })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^latchkey: .*PORT/)
  })

  test('leave no files behind', () => assert.deepEqual(readdirSync(folder.path), []))
})

describe('the commands of a custom program', () => {
  const run = async (declarations: string, command: string) => {
    const folder = await ownProgram(
      'my-service.ts',
      `import { route, runProgram } from 'latchkey'
import * as v from 'valibot'

await runProgram({ version: '1.0.0', routes: ({ customers }) => [${declarations}] })
`,
    )
    try {
      const env = { DATABASE_URL: 'postgres://127.0.0.1:1/none', PORT: '0' }
      const args = ['--import', 'tsx', 'my-service.ts', command]
      return await startProcess(process.execPath, args, { cwd: folder.path, env }).ended
    } finally {
      folder.remove()
    }
  }
  const good = `route('GET /a/:id', { auth: 'customer', abilities: ['a:read', 'a:*'], handle: async ({ params, deadline }) => ({ found: (await customers.find(params.id, deadline)) !== null }) })`
  const open = `route('GET /b', { auth: 'none', returns: v.object({ size: v.custom<number>(() => true) }), handle: () => ({ size: 1 }) })`

  test('include its custom routes, even if they destructure use cases', async () => {
    const { code, stdout, stderr } = await run(good, 'routes')
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^GET +\/api\/a\/:id +customer +a:read, a:\*$/m)
  })

  test('document a type that JSON Schema lacks as "anything" and report it', async () => {
    const { code, stdout, stderr } = await run(`${good}, ${open}`, 'openapi')
    assert.equal(code, 0)
    assert.equal(
      stderr,
      'latchkey: GET /api/b, response: JSON Schema cannot express "custom"; the document allows any value.\n',
    )
    const [schema] = Object.values<{ schema: unknown }>(
      JSON.parse(stdout).paths['/api/b'].get.responses[200].content,
    )
    assert.deepEqual(schema?.schema, {
      type: 'object',
      required: ['success', 'size'],
      properties: { success: { type: 'boolean', const: true }, size: {} },
    })
  })

  for (const [mistake, declarations, line] of [
    [
      'a route that is there already',
      `${good}, ${good}`,
      /^latchkey: Route "GET \/api\/a\/:id" is declared twice\.\n$/,
    ],
    [
      'a slash at the end',
      `route('GET /a/', { auth: 'none', handle: () => ({}) })`,
      /^latchkey: Route "GET \/a\/": .*\n$/,
    ],
    [
      'a use case that is called while routes are declared',
      `(customers.find('a', null as never), ${good})`,
      /^latchkey: This cannot be called: .*\n$/,
    ],
  ] as const) {
    for (const command of ['routes', 'openapi'])
      test(`${command} reports ${mistake} in one line`, async () => {
        const { code, stdout, stderr } = await run(declarations, command)
        assert.deepEqual([code, stdout], [1, ''])
        assert.match(stderr, line)
      })
  }
})
