import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { createProgram } from '../../../src/adapters/cli/program.ts'
import { Refusal } from '../../../src/adapters/cli/refusal.ts'
import { runCli } from '../../../src/adapters/cli/run-cli.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { listCommands } from '../../support/reference.ts'
import { makeCommandLine, NOW_MS, toJsonText } from './command-line.ts'

const HASH = `$2b$12$${'a'.repeat(53)}`
const PUBLIC = { method: 'GET', auth: 'none', abilities: [], scopes: [], isPageAsset: false }

describe('latchkey', () => {
  for (const argv of [[], ['serve']])
    test(`runs the service with the arguments ${JSON.stringify(argv)}`, async () => {
      let served = 0
      const { run } = makeCommandLine({ serve: async () => void served++ })
      assert.deepEqual(await run(argv), { code: 0, stdout: '', stderr: '' })
      assert.equal(served, 1)
    })

  test('prints its version', async () => {
    assert.deepEqual(await makeCommandLine().run(['--version']), { code: 0, stdout: '1.2.3\n', stderr: '' })
  })

  for (const argv of [['--help'], ['help'], ['customer', '--help'], ['customer', 'add', '--help']])
    test(`prints help with ${argv.join(' ')}, 80 columns wide and without opening a store`, async () => {
      const { code, stdout, stderr } = await makeCommandLine().run(argv)
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, /^Usage: latchkey/)
      assert.ok(stdout.split('\n').every((line) => line.length <= 80))
    })

  test('shows an example in the help of every command, in 80 columns', async () => {
    const { operations, run } = makeCommandLine()
    const program = createProgram(operations, process)
    const all = program.commands.flatMap((command) => [
      [command.name()],
      ...command.commands.map((next) => [command.name(), next.name()]),
    ])
    for (const words of [[], ...all.filter((words) => words.at(-1) !== 'help')]) {
      const { stdout } = await run(['help', ...words])
      assert.match(stdout, /^Example:\n {2}\S/m, words.join(' '))
      assert.equal(/^Exit code 1: \S/m.test(stdout), !/^Commands:/m.test(stdout), words.join(' '))
      assert.equal(stdout, (await run([...words, '--help'])).stdout)
      assert.deepEqual(
        stdout.split('\n').filter((line) => line.length > 80),
        [],
      )
    }
  })

  test('names every command in its help', async () => {
    const { run } = makeCommandLine()
    const helps = await Promise.all([[], ['customer'], ['token']].map((argv) => run([...argv, '--help'])))
    const text = helps.map(({ stdout }) => stdout).join('')
    for (const word of [
      'serve',
      'migrate',
      'customer',
      'token',
      'service-token',
      'routes',
      'openapi',
      'doctor',
      'smoke',
      'add',
      'password',
    ])
      assert.match(text, new RegExp(`^  ${word}\\b`, 'm'))
    for (const word of ['import', 'list', 'show', 'disable', 'enable', 'delete', 'create', 'revoke', 'prune'])
      assert.match(text, new RegExp(`^  ${word}\\b`, 'm'))
  })

  for (const [argv, line] of [
    [['serv'], /unknown command 'serv'/],
    [['--port', '3000'], /unknown option '--port'/],
    [['serve', 'now'], /too many arguments/],
    [['customer', 'add'], /missing required argument 'email'/],
    [['customer', 'add', 'a@b', 'secret'], /too many arguments/],
    [['customer', 'add', 'a@b', '--password', 'x'], /unknown option '--password'/],
    [['customer', 'add', 'a@b', '--name'], /argument missing/],
    [['customer', 'add', 'a@b', '--hash-stdin', '--password-stdin'], /cannot be used with/],
    [['customer', 'remove', 'a@b'], /unknown command 'remove'/],
    [['help', 'foo'], /unknown command 'foo'/],
    [['help', 'customer', 'foo'], /unknown command 'customer foo'/],
    [['customer', 'help', 'foo'], /unknown command 'foo'/],
    [['\u001b[2J'], /unknown command '\ufffd\[2J'/],
    [['token', 'revoke'], /give either an e-mail or --issued-before/],
    [['completion', 'fish'], /Allowed choices are bash, zsh/],
  ] as const)
    test(`refuses ${JSON.stringify(argv)} as wrong usage in one line that names the help`, async () => {
      const { run } = makeCommandLine()
      const { code, stdout, stderr } = await run(argv)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, line)
      const [, help = ''] =
        /^latchkey: [^\n]*[^.\n]\. See latchkey ((?:[a-z-]+ )*--help)\.\n$/.exec(stderr) ?? []
      assert.match((await run(help.split(' '))).stdout, /^Usage: latchkey/)
    })

  test('exits with 2 for a wrong option and with 1 for a refusal, whatever the command', async () => {
    const refuse = () => Promise.reject(new Refusal('Refused.'))
    const { run } = makeCommandLine({
      ...{ serve: refuse, migrate: refuse, pendingMigrations: refuse, withStore: refuse, routes: refuse },
      ...{ openApi: refuse, diagnose: refuse, backUp: refuse, restore: refuse, upgradeData: refuse },
      newServiceToken() {
        throw new Refusal('Refused.')
      },
    })
    const required: Readonly<Record<string, readonly string[]>> = {
      'customer import': ['-', '--format=csv'],
      'token create': ['a@b', '--name=x'],
      backup: ['-'],
      'token import': ['-', '--from=drf', '--format=csv'],
      'token revoke': ['a@b'],
      'upgrade-data': ['--old-binaries=old'],
    }
    for (const { usage } of listCommands()) {
      const command = usage.replace(/^latchkey | [<[].*/g, '')
      const words = command.split(' ')
      assert.equal((await run([...words, '--nonsense'])).code, 2, command)
      // They use none of these operations, or read a file before.
      if (['smoke', 'completion', 'restore'].includes(command)) continue
      const more = required[command] ?? (usage.includes('<email>') ? ['a@b'] : [])
      const argv = [...words, ...more, ...(/customer (?:add|password)/.test(command) ? ['--hash-stdin'] : [])]
      assert.deepEqual(
        await run(argv, HASH),
        { code: 1, stdout: '', stderr: 'latchkey: Refused.\n' },
        command,
      )
    }
  })

  test('has no line on a terminal that is wider than the terminal', async () => {
    const { operations, put, putToken } = makeCommandLine({
      diagnose: async () => ({
        settings: [{ name: 'HOST', value: 'x'.repeat(70), source: 'environment', variable: 'HOST' }],
        findings: [
          { name: 'a', state: 'warning', message: 'long word '.repeat(20), hint: 'hint '.repeat(20) },
        ],
      }),
      migrate: () => Promise.reject(new Refusal('A long sentence. '.repeat(9))),
      routes: async () => [
        { ...PUBLIC, path: `/api/${'p'.repeat(50)}`, abilities: ['orders:read', 'orders:write'] },
      ],
    })
    putToken(await put('ana@example.com', { name: 'Ana '.repeat(30) }), { abilities: ['orders:read', 'a:b'] })
    await put('bea@example.com')
    for (const argv of [
      ['doctor'],
      ['migrate'],
      ['routes'],
      ['customer', 'list'],
      ['customer', 'show', 'ana@example.com'],
      ['token', 'list'],
      ['token', 'list', 'ana@example.com'],
      ['customer', 'ad', 'x'.repeat(20), '--nonsense'],
      ['--help'],
    ]) {
      const output = Object.assign(new PassThrough(), { columns: 80, isTTY: true })
      await runCli(argv, operations, { stdin: new PassThrough(), stdout: output, stderr: output })
      const text = toJsonText(output)
      assert.notEqual(text, '')
      assert.deepEqual(
        text.split('\n').filter((line) => line.length > 80),
        [],
      )
    }
  })

  test('lists what does not fit as names and values, a row after the other', async () => {
    const { operations, put } = makeCommandLine()
    for (const email of ['ana@example.com', 'bea@example.com'])
      await put(email, { name: 'A name of many words that does not fit into one line' })
    const stdout = Object.assign(new PassThrough(), { columns: 40 })
    await runCli(['customer', 'list'], operations, {
      stdin: new PassThrough(),
      stdout,
      stderr: new PassThrough(),
    })
    const row = (email: string) => [
      'CREATED  2025-01-02T03:04:05Z',
      'STATE    active',
      `EMAIL    ${email}`,
      'NAME     A name of many words that does',
      '         not fit into one line',
      '',
    ]
    assert.deepEqual(toJsonText(stdout).split('\n'), [...row('ana@example.com'), ...row('bea@example.com')])
  })

  test('lists the routes in the order of their declaration', async () => {
    const { run } = makeCommandLine({
      routes: async () => [
        {
          method: 'POST',
          path: '/api/orders',
          auth: 'customer',
          abilities: ['orders:read', 'orders:write'],
          scopes: [],
          isPageAsset: false,
        },
        { ...PUBLIC, path: '/api/a' },
        { ...PUBLIC, path: '/api/b', auth: 'service', scopes: ['reports'] },
        { ...PUBLIC, path: '/docs/page.js', isPageAsset: true },
        { ...PUBLIC, path: '/ops/a.csv' },
      ],
    })
    assert.deepEqual(await run(['routes']), {
      code: 0,
      stdout: [
        'METHOD  PATH         AUTH      ABILITIES OR SCOPES',
        'POST    /api/orders  customer  orders:read, orders:write',
        'GET     /api/a       none',
        'GET     /api/b       service   reports',
        'GET     /ops/a.csv   none',
        '',
      ].join('\n'),
      stderr: '',
    })
  })

  test('prints the document alone to standard output, and its problems to standard error', async () => {
    const problems = ['GET /api/a, response: JSON Schema has no "\u001b[2J".']
    const { run } = makeCommandLine({ openApi: async () => ({ document: { openapi: '3.1.1' }, problems }) })
    assert.deepEqual(await run(['openapi']), {
      code: 0,
      stdout: '{\n  "openapi": "3.1.1"\n}\n',
      stderr: 'latchkey: GET /api/a, response: JSON Schema has no "\ufffd[2J".\n',
    })
  })

  for (const group of ['customer', 'service-token'])
    test(`prints the help of ${group} when its subcommand is missing`, async () => {
      const { code, stderr } = await makeCommandLine().run([group])
      assert.equal(code, 2)
      assert.match(stderr, new RegExp(`^Usage: latchkey ${group}`))
    })
})

describe('migrate', () => {
  const names = ['0001_customers', '0002_login_tokens']

  test('prints the applied migrations', async () => {
    const { run } = makeCommandLine({ migrate: async () => names })
    assert.equal((await run(['migrate'])).stdout, 'Applied 0001_customers.\nApplied 0002_login_tokens.\n')
  })

  test('reports that nothing was pending', async () => {
    assert.equal((await makeCommandLine().run(['migrate'])).stdout, 'The schema is current.\n')
  })

  test('--check lists pending migrations, applies none and exits 1', async () => {
    const migrate = () => assert.fail('applied')
    const { run } = makeCommandLine({ migrate, pendingMigrations: async () => names })
    assert.deepEqual(await run(['migrate', '--check']), {
      code: 1,
      stdout: '0001_customers\n0002_login_tokens\n',
      stderr: 'latchkey: Migrations are pending: 2. Apply them with the command migrate.\n',
    })
  })

  test('--check exits 0 when nothing is pending', async () => {
    const { run } = makeCommandLine({ migrate: () => assert.fail('applied') })
    assert.deepEqual(await run(['migrate', '--check']), {
      code: 0,
      stdout: 'The schema is current.\n',
      stderr: '',
    })
  })
})

describe('--json', () => {
  const document = async (argv: readonly string[], command = makeCommandLine()) => {
    const { stdout, stderr } = await command.run([...argv, '--json'])
    return { ...JSON.parse(stdout), stderr }
  }

  test('prints the customers and tokens, and an empty list when there are none', async () => {
    const command = makeCommandLine()
    assert.deepEqual(await document(['customer', 'list'], command), { customers: [], stderr: '' })
    assert.deepEqual(await document(['token', 'list'], command), { tokens: [], stderr: '' })
    const id = await command.put('ana@example.com', { name: 'Ana' })
    await command.put('bea@example.com', { disabledAtMs: NOW_MS })
    command.putToken(id, { name: 'bot', expiresAtMs: NOW_MS + 1 })
    const { customers } = await document(['customer', 'list'], command)
    assert.deepEqual(customers[0], {
      id,
      email: 'ana@example.com',
      name: 'Ana',
      state: 'active',
      created_at: '2025-01-02T03:04:05.678Z',
      disabled_at: null,
    })
    assert.deepEqual([customers.length, customers[1].state], [2, 'disabled'])
    const { tokens } = await document(['token', 'list'], command)
    const token = {
      id: tokens[0].id,
      customer_id: id,
      name: 'bot',
      state: 'active',
      abilities: ['*'],
      created_at: '2025-01-02T03:04:05.678Z',
      last_used_at: null,
      expires_at: '2025-01-02T03:04:05.679Z',
      revoked_at: null,
    }
    assert.deepEqual(tokens, [{ ...token, email: 'ana@example.com' }])
    assert.deepEqual((await document(['token', 'list', 'ana@example.com'], command)).tokens, [token])
    assert.deepEqual(await document(['customer', 'show', 'ana@example.com'], command), {
      customer: customers[0],
      tokens: [token],
      counts: { active: 1, revoked: 0, expired: 0 },
      stderr: '',
    })
  })

  test('prints the routes and the migrations', async () => {
    const { isPageAsset, ...route } = { ...PUBLIC, path: '/api/a' }
    const { routes } = await document(
      ['routes'],
      makeCommandLine({ routes: async () => [{ ...route, isPageAsset }] }),
    )
    assert.deepEqual(routes, [{ ...route, is_page_asset: isPageAsset }])
    const command = makeCommandLine({
      migrate: async () => ['0001'],
      pendingMigrations: async () => ['0001'],
    })
    assert.deepEqual((await document(['migrate'], command)).applied, ['0001'])
    const check = await command.run(['migrate', '--check', '--json'])
    assert.deepEqual([check.code, JSON.parse(check.stdout)], [1, { pending: ['0001'] }])
  })

  test('prints the result of an import and its refused rows', async () => {
    const command = makeCommandLine()
    const file = `email,password_hash\na@b,$2b$12$${'a'.repeat(53)}\nNULL,x\nb@c,x\n`
    const argv = ['customer', 'import', '-', '--format', 'csv', '--json']
    const { code, stdout } = await command.run(argv, file)
    assert.equal(code, 1)
    assert.deepEqual(JSON.parse(stdout), {
      refused_rows: [
        { line: 3, problem: 'email: Must contain an @ with text before and after it.' },
        { line: 4, problem: 'password_hash: Must be bcrypt of the version $2a$, $2b$ or $2y$.' },
      ],
      dry_run: false,
      added: 1,
      already_there: 0,
      refused: 2,
    })
  })
})

describe('doctor', () => {
  const setting = (name: string, source: string) => ({ name, value: 'x', source, variable: name })
  const finding = (name: string, state: 'ok' | 'warning' | 'failure') => ({
    name,
    state,
    message: 'M.',
    hint: state === 'ok' ? null : 'H.',
  })
  const diagnosis = {
    settings: [setting('HOST', 'default'), setting('PORT', '.env')],
    findings: [finding('a', 'ok'), finding('b', 'warning'), finding('c', 'failure')],
  }

  test('prints the findings, the worst first, then the settings that are set, then a summary', async () => {
    const { run } = makeCommandLine({ diagnose: async () => diagnosis })
    assert.deepEqual(await run(['doctor']), {
      code: 1,
      stdout: [
        ...['failure  c: M.', '         H.', 'warning  b: M.', '         H.', 'ok       a: M.', ''],
        ...['SETTING  VALUE  FROM', 'PORT     x      .env', ''],
        'Checks: 1 failure, 1 warning, 1 ok. 1 setting has its default; --all lists all.',
        '',
      ].join('\n'),
      stderr: 'latchkey: One check failed.\n',
    })
    const { stdout } = await run(['doctor', '--all'])
    assert.match(stdout, /^HOST +x +default$/m)
    assert.match(stdout, /^Checks: 1 failure, 1 warning, 1 ok\.$/m)
  })
})

describe('service-token new', () => {
  test('prints only a secret, so that the output can be piped', async () => {
    const { run, operations } = makeCommandLine()
    assert.deepEqual(await run(['service-token', 'new']), {
      code: 0,
      stdout: `${operations.newServiceToken()}\n`,
      stderr: '',
    })
  })
})

describe('A failure', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })
  const everyAddress = Object.assign(new AggregateError([refused], ''), { code: 'ECONNREFUSED' })
  const marked = Object.assign(new Error('PORT: Wrong.\nHOST: Wrong\u001b.'), { forOperators: true })

  for (const [title, error, lines] of [
    ['a refusal', new Refusal('The folder is in use.'), ['The folder is in use.']],
    ['a marked error of several lines', marked, ['PORT: Wrong.', 'HOST: Wrong\ufffd.']],
    ['a refused connection', refused, [`${refused.message}; check HOST and DATABASE_URL`]],
    ['one of several addresses', everyAddress, [`${refused.message}; check HOST and DATABASE_URL`]],
    [
      'an unavailable store',
      new Unavailable({ cause: refused }),
      [
        `The service cannot respond right now. Please try again. (${refused.message}; check HOST and DATABASE_URL)`,
      ],
    ],
    ['one without a cause', new Unavailable(), ['The service cannot respond right now. Please try again.']],
    [
      'a port in use',
      Object.assign(new Error('listen EADDRINUSE 127.0.0.1:3000'), { code: 'EADDRINUSE' }),
      ['listen EADDRINUSE 127.0.0.1:3000; set HOST and PORT to an address that is free here'],
    ],
    [
      'a certificate',
      Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      ['self-signed certificate; check sslmode in DATABASE_URL; docs/reference/settings.md lists its values'],
    ],
    [
      'an unknown error',
      new TypeError('x is not\n  a function'),
      ['x is not a function; NODE_DEBUG=latchkey shows where it happened'],
    ],
    ['one without a message', new TypeError(), ['TypeError; NODE_DEBUG=latchkey shows where it happened']],
    ['something thrown', 'a string', ['a string; NODE_DEBUG=latchkey shows where it happened']],
  ] as const)
    test(`of the kind "${title}" is reported without a stack`, async () => {
      const { run } = makeCommandLine({ serve: () => Promise.reject(error) })
      assert.deepEqual(await run(['serve']), {
        code: 1,
        stdout: '',
        stderr: lines.map((line) => `latchkey: ${line}\n`).join(''),
      })
    })
})
