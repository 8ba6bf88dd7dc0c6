import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SETTINGS, type SettingName } from '../../../src/adapters/config/settings.ts'
import type { Configuration } from '../../../src/application/configuration.ts'
import { problemsOf, read } from './reading.ts'

const S32 = 'abcdefghijklmnopqrstuvwxyz012345'
const DEFAULT_SCOPES = ['status', 'metrics', 'routes']
const DAY_MS = 86_400_000

interface Row {
  readonly name: SettingName
  readonly field: keyof Configuration
  readonly unset: unknown
  readonly good: readonly (readonly [text: string, value: unknown])[]
  readonly bad: readonly string[]
}

const WHOLE_NUMBERS_NOT = [
  '-1',
  '+1',
  '1.5',
  '1e3',
  '0x10',
  ' 1',
  '1 ',
  '1_000',
  'abc',
  '９',
  '1'.repeat(400),
]
const LIMITS_NOT = [
  '',
  'on',
  '10',
  '10/',
  '/15m',
  '0/15m',
  '-1/15m',
  '1.5/15m',
  '10/0s',
  '10/15',
  '10 / 15m',
  '10/15m ',
  '1e1/15m',
  '10/15m/1',
]
const DURATIONS_NOT = ['60', '60 m', '6e1m', '-5m', '1.5h', 'm', '1M', '1w', '1m30s', ' 1m', '1m ', '3651d']
const ENDLESS = '9'.repeat(12)

const timeout = (name: SettingName, field: keyof Configuration, unset: number): Row => ({
  name,
  field,
  unset,
  good: [
    ['1s', 1000],
    ['2500ms', 2500],
  ],
  bad: [...DURATIONS_NOT, '0s', `${ENDLESS}d`],
})

const database = (name: SettingName, field: keyof Configuration): Row => ({
  name,
  field,
  unset: null,
  good: [
    'postgres://app:pw@db.example:5432/app',
    'postgresql://db.example/app?sslmode=verify-full',
    'postgres://db',
    'postgres://[::1]:5433/app',
    'postgres://%2Frun%2Fpostgresql/app',
    'postgres:///app?host=/run/postgresql',
  ].map((text) => [text, text]),
  bad: [
    'db.example',
    'http://db.example/app',
    'mysql://db.example/app',
    'postgres:',
    'postgres://',
    'postgres:///app',
    'postgres://db.example:99999/app',
    'postgres://app:100%@db.example/app',
    ' postgres://db.example/app',
    'postgres://db.example/app\n',
    'postgres://db.example/app?sslmode=yes',
  ],
})

const ROWS: readonly Row[] = [
  {
    name: 'HOST',
    // Public case 077
    field: 'host',
    unset: '127.0.0.1',
    good: ['localhost', '127.0.0.1', '0.0.0.0', '::', '::1', 'api.example.com', 'fe80::1%eth0'].map(
      (text) => [text, text],
    ),
    bad: ['[::1]', 'http://localhost', 'localhost:3000', '1.2.3', '256.1.1.1', 'a b', ' ', '-', 'a/b'],
  },
  {
    name: 'PORT',
    field: 'port',
    unset: 3000,
    good: [
      ['0', 0],
      ['65535', 65535],
    ],
    bad: [...WHOLE_NUMBERS_NOT, '65536'],
  },
  {
    name: 'PUBLIC_URL',
    field: 'publicUrl',
    unset: null,
    good: [
      ['https://api.example.com', 'https://api.example.com'],
      ['https://api.example.com/', 'https://api.example.com'],
      ['http://localhost:8080/auth/', 'http://localhost:8080/auth'],
    ],
    bad: [
      'api.example.com',
      'ftp://a',
      'https://',
      'https://u:p@a',
      'https://a?x',
      'https://a/#x',
      'https://a b',
    ],
  },
  database('DATABASE_URL', 'databaseUrl'),
  {
    name: 'DATABASE_PREPARED',
    field: 'prepared',
    unset: true,
    good: [
      ['on', true],
      ['off', false],
    ],
    bad: ['ON', 'true', 'false', '1', 'yes', ' on'],
  },
  {
    name: 'DATABASE_POOL_MAX',
    field: 'poolMax',
    unset: 10,
    good: [['1', 1]],
    bad: [...WHOLE_NUMBERS_NOT, '0'],
  },
  {
    name: 'DATA_DIR',
    field: 'dataDir',
    unset: null,
    good: ['./data', '/var/lib/latchkey', 'my data'].map((text) => [text, text]),
    bad: [' ', 'a\0b'],
  },
  {
    name: 'WORKERS',
    field: 'workers',
    unset: 1,
    good: [
      ['1', 1],
      ['1024', 1024],
    ],
    bad: ['0', '1025', '-1', '1.5', 'auto'],
  },
  { name: 'MIGRATE', field: 'migrate', unset: 'auto', good: [['off', 'off']], bad: ['on', 'Auto', 'never'] },
  {
    name: 'TOKEN_PREFIX',
    field: 'tokenPrefix',
    unset: 'lk',
    good: ['a', 'acme1', 'a123456789012345'].map((text) => [text, text]),
    bad: ['A', '1a', 'a_b', 'a-b', 'a1234567890123456', 'é', 'a\n'],
  },
  {
    name: 'TOKEN_TTL',
    // Public case 050
    field: 'tokenTtlMs',
    unset: 30 * DAY_MS,
    good: [
      ['60m', 3_600_000],
      ['1h', 3_600_000],
      ['1ms', 1],
      ['3650d', 3650 * DAY_MS],
      ['never', null],
    ],
    bad: [...DURATIONS_NOT, '0s', 'Never', 'null', `${ENDLESS}d`],
  },
  {
    name: 'TOKEN_CACHE_TTL',
    // Public case 046
    field: 'tokenCacheTtlMs',
    unset: 60_000,
    good: [
      ['0s', 0],
      ['0ms', 0],
      ['1m', 60_000],
    ],
    bad: [...DURATIONS_NOT, '0', '-1', 'abc', '0.5', '1e9', 'off', 'never'],
  },
  {
    name: 'TOKEN_CACHE_MAX',
    field: 'tokenCacheMax',
    unset: 100_000,
    good: [
      ['1', 1],
      ['10000000', 10_000_000],
    ],
    bad: [...WHOLE_NUMBERS_NOT, '0', '10000001'],
  },
  {
    name: 'REVOCATION',
    field: 'revocation',
    unset: 'strict',
    good: [['prompt', 'prompt']],
    bad: ['Strict', 'off', ''],
  },
  {
    name: 'SERVICE_TOKENS',
    field: 'serviceTokens',
    unset: [],
    good: [
      [`monitor=${S32}`, [{ name: 'monitor', scopes: DEFAULT_SCOPES, secret: S32 }]],
      [
        `gateway[introspect  verify]=${S32},oncall[ ops status ]=${S32}=`,
        [
          { name: 'gateway', scopes: ['introspect', 'verify'], secret: S32 },
          { name: 'oncall', scopes: ['ops', 'status'], secret: `${S32}=` },
        ],
      ],
      [
        `a=${S32}==, b-2=-._~+/${S32}`,
        [
          { name: 'a', scopes: DEFAULT_SCOPES, secret: `${S32}==` },
          { name: 'b-2', scopes: DEFAULT_SCOPES, secret: `-._~+/${S32}` },
        ],
      ],
    ],
    bad: [
      S32,
      `=${S32}`,
      `${S32}=`,
      `A=${S32}`,
      `a b=${S32}`,
      'a=short',
      `a[]=${S32}`,
      `a[ops=${S32}`,
      `a[ops,status]=${S32}`,
      `a=${S32} b`,
      `a=${S32},`,
      `,a=${S32}`,
      `a=${S32},a=${S32}x`,
    ],
  },
  {
    name: 'APP_VERSION',
    field: 'appVersion',
    unset: null,
    good: ['1.4.0', '2024-11-28+abc'].map((text) => [text, text]),
    bad: [' ', '1.0 beta', '1\n', 'v\u00e9', 'x'.repeat(101)],
  },
  {
    name: 'BCRYPT_COST',
    field: 'bcryptCost',
    unset: 12,
    good: [
      ['4', 4],
      ['15', 15],
    ],
    bad: [...WHOLE_NUMBERS_NOT, '3', '16'],
  },
  {
    name: 'TOKEN_RETENTION',
    field: 'tokenRetentionMs',
    unset: 30 * 86_400_000,
    good: [['90d', 90 * 86_400_000]],
    bad: [...DURATIONS_NOT, '0s', 'never'],
  },
  {
    name: 'TOKEN_LAST_USED',
    field: 'tokenLastUsed',
    unset: true,
    good: [['off', false]],
    bad: ['OFF', 'false', '0'],
  },
  {
    name: 'TOKEN_IDLE_TTL',
    field: 'tokenIdleTtlMs',
    unset: null,
    good: [
      ['off', null],
      ['5m', 300_000],
      ['300000ms', 300_000],
      ['3650d', 3650 * 86_400_000],
    ],
    bad: [...DURATIONS_NOT, '0s', 'never', 'OFF', '299s', '299999ms'],
  },
  {
    name: 'LOGIN_SESSIONS',
    field: 'loginSessions',
    unset: 1,
    good: [
      ['1', 1],
      ['100', 100],
    ],
    bad: ['0', '101', '1.5', '-1', 'off', ''],
  },
  {
    name: 'LOGIN_SESSIONS_FULL',
    field: 'loginSessionsFull',
    unset: 'replace',
    good: [['refuse', 'refuse']],
    bad: ['Refuse', 'off'],
  },
  {
    name: 'PASSWORD_MIN_LENGTH',
    field: 'passwordMinLength',
    unset: 8,
    good: [
      ['8', 8],
      ['15', 15],
      ['64', 64],
    ],
    bad: ['7', '65', '8.5', 'off'],
  },
  {
    name: 'HASHING_CONCURRENCY',
    field: 'hashingConcurrency',
    unset: null,
    good: [
      ['1', 1],
      ['1023', 1023],
    ],
    bad: [...WHOLE_NUMBERS_NOT, '0', '1024'],
  },
  {
    name: 'COMMON_PASSWORDS',
    field: 'refusesCommonPasswords',
    unset: true,
    good: [
      ['refused', true],
      ['accepted', false],
    ],
    bad: ['off', 'Refused', 'true'],
  },
  {
    name: 'LOGIN_LIMIT_ACCOUNT',
    field: 'loginLimitAccount',
    unset: { failures: 10, windowMs: 900_000 },
    good: [
      ['off', null],
      ['1/1s', { failures: 1, windowMs: 1000 }],
      ['100/1d', { failures: 100, windowMs: 86_400_000 }],
    ],
    bad: ['101/15m', ...LIMITS_NOT],
  },
  {
    name: 'LOGIN_LIMIT_ADDRESS',
    field: 'loginLimitAddress',
    unset: { failures: 100, windowMs: 900_000 },
    good: [
      ['off', null],
      ['1000000/1m', { failures: 1_000_000, windowMs: 60_000 }],
    ],
    bad: ['1000001/15m', ...LIMITS_NOT],
  },
  {
    name: 'TRUST_PROXY',
    field: 'trustedProxies',
    unset: 0,
    good: [['2', 2]],
    bad: [...WHOLE_NUMBERS_NOT, '101', 'loopback'],
  },
  {
    name: 'LOG_ERROR_MESSAGES',
    field: 'logErrorMessages',
    unset: true,
    good: [
      ['on', true],
      ['off', false],
    ],
    bad: ['ON', 'true', '0', 'never', ' on'],
  },
  {
    name: 'AUDIT_LOG',
    field: 'auditLog',
    unset: null,
    good: ['audit.jsonl', '/var/log/latchkey/audit.jsonl'].map((text) => [text, text]),
    bad: [' ', 'a\0b'],
  },
  {
    name: 'LOG_LEVEL',
    field: 'logLevel',
    unset: 'info',
    good: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((text) => [text, text]),
    bad: ['INFO', 'warning', 'off', '30'],
  },
  {
    name: 'ACCESS_LOG',
    field: 'accessLog',
    unset: 'failures',
    good: ['failures', 'all', 'off'].map((text) => [text, text]),
    bad: ['ALL', 'on', 'none', 'failures '],
  },
  {
    name: 'BODY_LIMIT',
    field: 'bodyLimitBytes',
    unset: 65_536,
    good: [['1024', 1024]],
    bad: [...WHOLE_NUMBERS_NOT, '0', '64kb', '1073741825'],
  },
  timeout('HEADERS_TIMEOUT', 'headersTimeoutMs', 10_000),
  {
    name: 'REQUEST_TIMEOUT',
    field: 'requestTimeoutMs',
    unset: 15_000,
    good: [['1m', 60_000]],
    bad: [...DURATIONS_NOT, '0s'],
  },
  timeout('KEEP_ALIVE_TIMEOUT', 'keepAliveTimeoutMs', 75_000),
  {
    name: 'MAX_CONNECTIONS',
    field: 'maxConnections',
    unset: null,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: [...WHOLE_NUMBERS_NOT, '0', '1000001'],
  },
  {
    name: 'FOREIGN_TOKENS',
    field: 'foreignTokens',
    unset: [],
    good: [
      ['sanctum', ['sanctum']],
      ['drf, better-auth', ['drf', 'better-auth']],
    ],
    bad: ['knox', 'Sanctum', 'sanctum,', 'sanctum,sanctum'],
  },
  {
    name: 'MAX_VERIFIERS',
    field: 'maxVerifiers',
    unset: 100,
    good: [
      ['1', 1],
      ['10000', 10_000],
    ],
    bad: [...WHOLE_NUMBERS_NOT, '0', '10001'],
  },
  {
    name: 'DRAIN_DELAY',
    field: 'drainDelayMs',
    unset: 0,
    good: [
      ['0s', 0],
      ['5s', 5000],
    ],
    bad: [...DURATIONS_NOT, '0'],
  },
  timeout('DRAIN_DEADLINE', 'drainDeadlineMs', 10_000),
  {
    name: 'DOCS',
    field: 'docs',
    unset: true,
    good: [
      ['on', true],
      ['off', false],
    ],
    bad: ['ON', 'true', '0', 'none', ' on'],
  },
  {
    name: 'METRICS_HOST',
    field: 'metricsHost',
    unset: '127.0.0.1',
    good: ['0.0.0.0', '::1', 'localhost'].map((text) => [text, text]),
    bad: ['[::1]', 'localhost:9464', 'a b'],
  },
  {
    name: 'METRICS_PORT',
    field: 'metricsPort',
    unset: null,
    good: [
      ['0', 0],
      ['9464', 9464],
    ],
    bad: [...WHOLE_NUMBERS_NOT, '65536'],
  },
  {
    name: 'OPS',
    field: 'ops',
    unset: false,
    good: [
      ['on', true],
      ['off', false],
    ],
    bad: ['ON', 'true', '1', ' on'],
  },
  {
    name: 'CORS_ORIGINS',
    field: 'corsOrigins',
    unset: [],
    good: [
      ['https://app.example.com', ['https://app.example.com']],
      ['http://localhost:5173, https://b.example', ['http://localhost:5173', 'https://b.example']],
      ['https://a.example,https://a.example', ['https://a.example']],
      ['capacitor://localhost,tauri://localhost', ['capacitor://localhost', 'tauri://localhost']],
      ['ionic://localhost', ['ionic://localhost']],
      [
        'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
        ['chrome-extension://abcdefghijklmnopabcdefghijklmnop'],
      ],
    ],
    bad: [
      'https://*.example.com',
      'capacitor://',
      'capacitor://localhost/',
      'Capacitor://localhost',
      'capacitor://*',
      'file://localhost',
      'capacitor:localhost',
      '*',
      'null',
      'app.example.com',
      'https://a.example/',
      'https://A.example',
      'https://a.example:443',
      ',',
    ],
  },
  {
    name: 'CORS_HEADERS',
    field: 'corsHeaders',
    unset: [],
    good: [
      ['X-Tenant', ['X-Tenant']],
      ['X-Tenant, Idempotency-Key,X-Tenant', ['X-Tenant', 'Idempotency-Key']],
    ],
    bad: [',', 'X-Tenant,', 'X Tenant', 'X-Tenant:1', 'X-Té', 'a\r\nSet-Cookie'],
  },
]

for (const { name, field, unset, good, bad } of ROWS) {
  describe(name, () => {
    test('has its default when it is unset', () => {
      assert.deepEqual(read({}).configuration[field], unset)
    })

    for (const [text, value] of good)
      test(`accepts ${JSON.stringify(text)}`, () => {
        assert.deepEqual(read({ [name]: text }).configuration[field], value)
      })

    test('has its default when it is empty, as a compose file writes an unset variable', () => {
      assert.deepEqual(read({ [name]: '' }).configuration[field], unset)
    })

    for (const text of bad.filter(Boolean))
      test(`refuses ${JSON.stringify(text.slice(0, 60))}`, () => {
        const problems = problemsOf({ [name]: text })
        assert.ok(problems.length > 0)
        assert.deepEqual([...new Set(problems.map((problem) => problem.name))], [name])
      })
  })
}

describe('DATABASE_DIRECT_URL', () => {
  const DATABASE_URL = 'postgres://pooler.example/app'
  const row = database('DATABASE_DIRECT_URL', 'databaseDirectUrl')

  test('is DATABASE_URL when it is unset', () => {
    assert.equal(read({ DATABASE_URL }).configuration.databaseDirectUrl, DATABASE_URL)
    assert.equal(read({}).configuration.databaseDirectUrl, null)
  })

  for (const [text, value] of row.good)
    test(`accepts ${text}`, () => {
      const { configuration } = read({ DATABASE_URL, DATABASE_DIRECT_URL: text })
      assert.equal(configuration.databaseDirectUrl, value)
      assert.equal(configuration.databaseUrl, DATABASE_URL)
    })

  for (const text of row.bad.filter(Boolean))
    test(`refuses ${JSON.stringify(text)}`, () => {
      const problems = problemsOf({ DATABASE_URL, DATABASE_DIRECT_URL: text })
      assert.deepEqual([...new Set(problems.map(({ name }) => name))], ['DATABASE_DIRECT_URL'])
    })

  test('is refused without DATABASE_URL', () => {
    assert.match(problemsOf({ DATABASE_DIRECT_URL: DATABASE_URL })[0]?.problem ?? '', /without DATABASE_URL/)
  })
})

describe('The table of this test', () => {
  test('covers every setting', () => {
    const covered = new Set([...ROWS.map(({ name }) => name), 'DATABASE_DIRECT_URL'])
    assert.deepEqual(
      SETTINGS.map(({ name }) => name).filter((name) => !covered.has(name)),
      [],
    )
  })
})
