import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { ConfigurationRefused } from '../../../src/adapters/config/configuration-refused.ts'
import { SETTINGS } from '../../../src/adapters/config/settings.ts'
import { newServiceSecret } from '../../../src/adapters/node-crypto/service-secrets.ts'
import { problemsOf, read, toRefusal } from './reading.ts'

const S32 = 'abcdefghijklmnopqrstuvwxyz012345'

function failing(code: string): () => never {
  return () => {
    throw Object.assign(new Error(`${code}: /run/secrets/hunter2`), { code })
  }
}

function holding(text: string | Uint8Array): (path: string) => Uint8Array {
  return () => Buffer.from(text)
}

describe('The configuration', () => {
  test('accepts the example of every setting, except the placeholder of a secret', () => {
    const examples = Object.fromEntries(SETTINGS.map(({ name, example }) => [name, example]))
    // A secret that the documentation shows is rejected.
    const SERVICE_TOKENS = `monitor=${newServiceSecret()}`
    // The address of a proxy.
    const TRUST_PROXY = '1'
    assert.deepEqual(read({ ...examples, SERVICE_TOKENS, TRUST_PROXY }).warnings, [])
  })

  test('reports all problems at once, each on a line with its name and an accepted example', () => {
    const bad = Object.fromEntries(SETTINGS.map(({ name }) => [name, '\0']))
    const { problems, message } = toRefusal(bad)
    assert.deepEqual(problems.map(({ name }) => name).sort(), SETTINGS.map(({ name }) => name).sort())
    assert.equal(message.split('\n').length, SETTINGS.length)
    for (const { name, problem, example } of problems) {
      assert.ok(message.includes(`${name}: ${problem} Example: ${example}`))
      assert.match(problem, /^[A-Z].*\.$/)
      assert.ok(example.startsWith(`${name}=`))
    }
  })

  test('reports every invalid pair of SERVICE_TOKENS', () => {
    assert.deepEqual(
      problemsOf({ SERVICE_TOKENS: `a=short,nothing,ok=${S32}` }).map(({ problem }) => problem),
      [
        'The secret of "a" must have at least 32 characters.',
        'Pair 2 must be name=secret or name[scopes]=secret.',
      ],
    )
  })

  test('is for production if NODE_ENV says so', () => {
    assert.equal(read({ NODE_ENV: 'production' }).configuration.production, true)
    assert.equal(read({}, { dotEnv: 'NODE_ENV=production' }).configuration.production, true)
    assert.equal(read({ NODE_ENV: 'development' }).configuration.production, false)
  })

  test('has a warning for a bcrypt cost below 10, and no other warning', () => {
    assert.match(read({ BCRYPT_COST: '9' }).warnings.join(), /^BCRYPT_COST is below 10/)
    assert.deepEqual(read({ BCRYPT_COST: '10' }).warnings, [])
  })

  test('has a warning for OPS without a service token', () => {
    assert.match(read({ OPS: 'on' }).warnings.join(), /^OPS is on and SERVICE_TOKENS is unset/)
    assert.deepEqual(read({ OPS: 'on', SERVICE_TOKENS: `desk=${S32},oncall[ops]=${S32}x` }).warnings, [])
  })

  test('has a warning for OPS without a service token that has its scope', () => {
    const { warnings } = read({ OPS: 'on', SERVICE_TOKENS: `desk=${S32}` })
    assert.match(warnings.join(), /^OPS is on and no service token has the scope ops: [^\n]+$/)
  })

  test('reports wrong scopes of a service token in one sentence, without the secret', () => {
    for (const [pair, problem] of [
      ['a[]', /^The brackets after "a" are empty/],
      ['a[ ]', /^The brackets after "a" are empty/],
      ['a[introspect,verify]', /^The scopes of "a" must be words .* with a space between them\.$/],
      ['a[introspect\tverify]', /^The scopes of "a" must be words/],
      ['a[*]', /^The scopes of "a" must be words/],
      ['A[ops]', /^A name must be lower-case/],
      ['[ops]', /^A name must be lower-case/],
      ['a[ops', /^Pair 1 must be name=secret or name\[scopes\]=secret\.$/],
      ['a]ops[', /^(Pair 1 must be|A name must be)/],
      ['a[ops] ', /^Pair 1 must be/],
      ['a[ops][status]', /^Pair 1 must be/],
      ['a[[ops]]', /^Pair 1 must be/],
      ['a [ops]', /^A name must be/],
    ] as const) {
      const problems = problemsOf({ SERVICE_TOKENS: `${pair}=${S32}` })
      assert.equal(problems.length, 1, pair)
      assert.match(problems[0]?.problem ?? '', problem)
      assert.ok(!toRefusal({ SERVICE_TOKENS: `${pair}=${S32}` }).message.includes(S32), pair)
    }
  })

  test('refuses a METRICS_PORT at the address of PORT', () => {
    const [problem] = problemsOf({ PORT: '4001', METRICS_PORT: '4001' })
    assert.deepEqual([problem?.name, problem?.problem], ['METRICS_PORT', 'Must differ from PORT.'])
    for (const other of [
      { METRICS_HOST: '127.0.0.2' },
      { PORT: '0', METRICS_PORT: '0' },
      { METRICS_PORT: '4002' },
    ])
      assert.doesNotThrow(() => read({ PORT: '4001', METRICS_PORT: '4001', ...other }))
  })

  test('refuses a HEADERS_TIMEOUT above REQUEST_TIMEOUT, which node would reject', () => {
    const [problem] = problemsOf({ HEADERS_TIMEOUT: '20s' })
    assert.equal(problem?.name, 'HEADERS_TIMEOUT')
    assert.doesNotThrow(() => read({ HEADERS_TIMEOUT: '20s', REQUEST_TIMEOUT: '20s' }))
  })

  test('caps timeouts, so that a timer can take the sum of two', () => {
    const names = [
      'HEADERS_TIMEOUT',
      'REQUEST_TIMEOUT',
      'KEEP_ALIVE_TIMEOUT',
      'DRAIN_DELAY',
      'DRAIN_DEADLINE',
    ]
    const { configuration } = read(Object.fromEntries(names.map((name) => [name, '3650d'])))
    const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, drainDelayMs, drainDeadlineMs } =
      configuration
    for (const ms of [headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, drainDelayMs, drainDeadlineMs])
      assert.ok(ms > 86_400_000 && 2 * ms + 60_000 < 2 ** 31, `${ms}`)
  })
})

describe('The .env file', () => {
  test('applies where the environment sets nothing', () => {
    const { configuration } = read({ PORT: '4000' }, { dotEnv: 'PORT=5000\nHOST="::1" # here\n' })
    assert.equal(configuration.port, 4000)
    assert.equal(configuration.host, '::1')
  })

  test('may have a byte-order mark and Windows line ends', () => {
    const { configuration } = read({}, { dotEnv: '\ufeffPORT=5000\r\nLOG_LEVEL=warn\r\n' })
    assert.equal(configuration.port, 5000)
    assert.equal(configuration.logLevel, 'warn')
  })

  test('is refused by name, like the environment', () => {
    assert.deepEqual(
      problemsOf({}, { dotEnv: 'PORT=x\nTOKEN_TTL=soon' }).map(({ name }) => name),
      ['PORT', 'TOKEN_TTL'],
    )
  })

  test('applies when the environment sets an empty text', () => {
    assert.equal(read({ PORT: '' }, { dotEnv: 'PORT=5000' }).configuration.port, 5000)
  })

  test('is warned of when a name resembles a setting', () => {
    for (const [name, meant] of [
      ['TRUST_PROXI', 'TRUST_PROXY'],
      ['TRUST-PROXY', 'TRUST_PROXY'],
      ['TURST_PROXY', 'TRUST_PROXY'],
      ['port', 'PORT'],
      ['PROT', 'PORT'],
      ['PRT', 'PORT'],
      ['LATCHKEY_PORT', 'PORT'],
      ['DATABSE_URL_FILE', 'DATABASE_URL_FILE'],
      ['DATABASE_URI', 'DATABASE_URL'],
      ['SERVICE_TOKEN', 'SERVICE_TOKENS'],
      ['AUDIT_LOG_FILE', 'AUDIT_LOG'],
      ['NODE_EVN', 'NODE_ENV'],
    ])
      assert.deepEqual(read({}, { dotEnv: `${name}=1` }).warnings, [
        `.env: ${name} is not a setting. Is ${meant} meant?`,
      ])
    const dotEnv =
      'APP_NAME=x\nPOSTGRES_PASSWORD=x\nTRUST_PROXY=1\nNODE_ENV=test\nPGHOST=x\nTESTDATABASE_URL=x'
    assert.deepEqual(read({}, { dotEnv }).warnings, [])
  })

  test('is warned of when node reads the name before the file', () => {
    for (const name of ['UV_THREADPOOL_SIZE', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'TZ'])
      assert.deepEqual(read({}, { dotEnv: `${name}=1` }).warnings, [
        `.env: ${name} has no effect here. Set it in the environment.`,
      ])
  })
})

describe('A secret in a file', () => {
  test('is read without the line breaks at its end', () => {
    const readFile = holding('postgres://db.example/app\r\n\n')
    const { configuration } = read({ DATABASE_URL_FILE: '/run/secrets/url' }, { readFile })
    assert.equal(configuration.databaseUrl, 'postgres://db.example/app')
  })

  test('has one pair a line for SERVICE_TOKENS', () => {
    const readFile = holding(`a=${S32}\r\n\nb[ops]=${S32}x\n`)
    assert.deepEqual(read({ SERVICE_TOKENS_FILE: 'f' }, { readFile }).configuration.serviceTokens, [
      { name: 'a', scopes: ['status', 'metrics', 'routes'], secret: S32 },
      { name: 'b', scopes: ['ops'], secret: `${S32}x` },
    ])
  })

  test('is read when the variable of the secret itself is empty', () => {
    const readFile = holding(`a=${S32}`)
    const { configuration } = read({ SERVICE_TOKENS: '', SERVICE_TOKENS_FILE: 'f' }, { readFile })
    assert.equal(configuration.serviceTokens.length, 1)
  })

  test('is read from the exact path', () => {
    const paths: string[] = []
    read(
      { DATABASE_URL_FILE: '/a', DATABASE_DIRECT_URL_FILE: '/b' },
      {
        readFile(path) {
          paths.push(path)
          return Buffer.from('postgres://db/app')
        },
      },
    )
    assert.deepEqual(paths, ['/a', '/b'])
  })

  for (const { name } of SETTINGS.filter(({ secret }) => secret))
    test(`is refused together with ${name} itself`, () => {
      const [problem] = problemsOf({ [name]: 'x', [`${name}_FILE`]: 'y' }, { readFile: holding('z') })
      assert.match(problem?.problem ?? '', new RegExp(`together with ${name}_FILE`))
    })

  for (const [title, readFile, sentence] of [
    ['is missing', failing('ENOENT'), /does not exist/],
    ['may not be read', failing('EACCES'), /may not read/],
    ['is a folder', failing('EISDIR'), /a folder/],
    ['fails otherwise', failing('EIO'), /cannot be read/],
    ['is empty', holding('\n'), /is empty/],
    ['is not text', holding(new Uint8Array([0xff, 0xfe])), /not UTF-8/],
    ['holds something else', holding('hunter2'), /postgres:/],
  ] as const)
    test(`is refused when the file ${title}, without showing path or content`, () => {
      const refusal = toRefusal({ DATABASE_URL_FILE: '/run/secrets/hunter2' }, { readFile })
      assert.deepEqual(
        refusal.problems.map(({ name }) => name),
        ['DATABASE_URL_FILE'],
      )
      assert.match(refusal.message, sentence)
      assert.doesNotMatch(inspect(refusal), /hunter2/)
    })

  test('is read from disk by default', () => {
    assert.match(problemsOf({ DATABASE_URL_FILE: '/does/not/exist' })[0]?.problem ?? '', /does not exist/)
    assert.match(problemsOf({ DATABASE_URL_FILE: '/' })[0]?.problem ?? '', /a folder/)
  })

  test('is supported for secrets only', () => {
    assert.equal(read({ PORT_FILE: '/does/not/exist' }).configuration.port, 3000)
  })
})

describe('A refusal', () => {
  for (const [name, value] of [
    ['DATABASE_URL', 'postgres://app:hunter2hunter2@/app'],
    ['DATABASE_URL', 'hunter2hunter2'],
    ['DATABASE_URL', 'postgres://app:hunter2hunter2@db/app?sslmode=hunter2hunter2'],
    ['SERVICE_TOKENS', 'hunter2hunter2'],
    ['SERVICE_TOKENS', 'hunter2hunter2='],
    ['SERVICE_TOKENS', 'hunter2hunter2=='],
    ['SERVICE_TOKENS', 'a=hunter2hunter2'],
    ['SERVICE_TOKENS', 'a=hunter2hunter2hunter2hunter2hunter2\u00e9'],
    ['SERVICE_TOKENS', 'a=b,hunter2hunter2'],
    ['SERVICE_TOKENS', 'a[ops]=hunter2hunter2'],
    ['SERVICE_TOKENS', 'a[hunter2hunter2]=b'],
    ['SERVICE_TOKENS', 'hunter2hunter2[ops]=='],
    ['SERVICE_TOKENS', 'hunter2hunter2[ops]'],
  ] as const)
    test(`never shows the secret in ${name}=${value}`, () => {
      assert.doesNotMatch(inspect(toRefusal({ [name]: value }), { depth: null }), /hunter2/)
    })

  test('is the only error, whatever the sources contain', () => {
    const names = SETTINGS.flatMap(({ name }) => [name, `${name}_FILE`])
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...SETTINGS.map(({ example }) => example)),
      fc.stringMatching(/^\d{0,5}(ms|s|m|h|d)$/),
      fc.webUrl(),
    )
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 }),
        fc.option(fc.string({ unit: 'binary', maxLength: 200 })),
        fc.uint8Array(),
        (env, dotEnv, file) => {
          try {
            read(env, { dotEnv, readFile: () => file })
          } catch (error) {
            assert.ok(error instanceof ConfigurationRefused, String(error))
            assert.ok(error.problems.length > 0)
          }
        },
      ),
      { numRuns: 1000 },
    )
  })
})
