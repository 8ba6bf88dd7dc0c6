import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfiguration } from '../src/adapters/config/read-configuration.ts'
import { memoryCustomers } from '../src/adapters/memory/customers.ts'
import { memoryLoginTokens } from '../src/adapters/memory/login-tokens.ts'
import { memoryOneTimeTokens } from '../src/adapters/memory/one-time-tokens.ts'
import { memoryStore } from '../src/adapters/memory/store.ts'
import { pinoLog } from '../src/adapters/pino/log.ts'
import type { MigrationSet } from '../src/adapters/postgres/migration-set.ts'
import { systemClock } from '../src/adapters/system-clock/clock.ts'
import {
  type Database,
  DatabaseUnusable,
  type OpenDatabase,
  type Role,
} from '../src/application/ports/database.ts'
import { postgresDatabase } from '../src/composition/postgres-database.ts'
import { checkDatabase } from '../src/composition/readiness-report.ts'
import { type Service, startService } from '../src/composition/service.ts'
import { workerEnvironment } from '../src/composition/worker-environment.ts'
import { type CheckResult, checkPassed } from '../src/lib/check-result.ts'
import { applyMigrations, listPendingMigrations, withStore } from '../src/program/commands.ts'
import { diagnose } from '../src/program/doctor.ts'
import { callAt } from '../src/testing/call.ts'
import { movableClock } from '../src/testing/movable-clock.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { fakePasswords } from './support/fakes.ts'
import { ownProgram } from './support/own-program.ts'
import { EMAIL, HASH, PASSWORD } from './support/program-suite.ts'
import { startProcess, UNTHROTTLED } from './support/running-process.ts'

/** A custom database in the memory of one process. */
function memoryDatabase(): Database & { readonly opened: Role[]; isReady: boolean; closed: number } {
  const store = memoryStore()
  const database = {
    opened: [] as Role[],
    isReady: true,
    closed: 0,
    async open(role: Role): Promise<OpenDatabase> {
      database.opened.push(role)
      return {
        customers: memoryCustomers(store),
        loginTokens: memoryLoginTokens(store),
        oneTimeTokens: memoryOneTimeTokens(store),
        ready: async () => database.isReady,
        async close() {
          database.closed += 1
        },
      }
    },
    migrate: async () => ['0001_made_up'],
    pendingMigrations: async () => ['0002_made_up'],
  }
  return database
}

function createConfiguration(env: Readonly<Record<string, string>> = {}) {
  const settings = { PORT: '0', BCRYPT_COST: '4', LOG_LEVEL: 'silent', ...env }
  // No server listens there, so a connection to PostgreSQL would fail.
  const sources = { DATABASE_URL: 'postgres://127.0.0.1:1/none', ...settings }
  return readConfiguration({ env: sources, dotEnv: null }).configuration
}

describe('a service on a custom database', () => {
  const database = memoryDatabase()
  const configuration = createConfiguration()
  let service: Service
  before(async () => {
    const log = pinoLog({ level: 'silent' })
    service = await startService({ configuration, log, database, version: '1.0.0' })
    const { customers, deadline } = service.useCases
    await customers.add(
      { email: 'ana@example.com', name: 'Ana', password: { password: PASSWORD } },
      deadline(),
    )
  })
  after(() => service.stop({ delay: false }))

  const logIn = async (): Promise<string> =>
    (await callAt(service.url, '/api/login', { body: { email: 'ana@example.com', password: PASSWORD } })).body
      .token
  const statusOfMe = async (token: string) => (await callAt(service.url, '/api/me', { token })).status

  test('caches validations and evicts them at logout and at the next login', async () => {
    assert.equal(service.invalidations.isCurrent(), true)
    const first = await logIn()
    assert.equal(await statusOfMe(first), 200)
    const second = await logIn()
    assert.deepEqual([await statusOfMe(first), await statusOfMe(second)], [401, 200])
    assert.equal((await callAt(service.url, '/api/logout', { token: second })).status, 200)
    assert.equal(await statusOfMe(second), 401)
  })

  test('counts failed logins itself if the database does not', async () => {
    const body = { email: 'unknown@example.com', password: 'wrong horse 9' }
    const statuses = []
    for (let n = 0; n < 11; n++) statuses.push((await callAt(service.url, '/api/login', { body })).status)
    assert.deepEqual(statuses, [...Array(10).fill(401), 429])
  })

  test('is ready when the database is ready', async () => {
    const ready = async () => (await callAt(service.url, '/readyz', { method: 'GET' })).status
    assert.equal(await ready(), 200)
    for (const [isReady, status] of [
      [false, 503],
      [true, 200],
    ] as const) {
      database.isReady = isReady
      while ((await ready()) !== status) await sleep(20)
    }
  })

  test('caches for at most a second without invalidations from other processes', async () => {
    const clock = movableClock(Date.now())
    const other = await startService({
      configuration,
      log: pinoLog({ level: 'silent' }),
      database,
      adapters: { clock },
      version: '1.0.0',
    })
    try {
      const token = await logIn()
      const statusOfOther = async () => (await callAt(other.url, '/api/me', { token })).status
      assert.equal(await statusOfOther(), 200)
      await callAt(service.url, '/api/logout', { token })
      clock.advance(1000)
      assert.equal(await statusOfOther(), 401)
    } finally {
      await other.stop({ delay: false })
    }
  })

  test('runs commands on the same database and closes it after each', async () => {
    const options = { configuration: createConfiguration({ TOKEN_CACHE_TTL: '0s' }), database }
    const closedBefore = database.closed
    const emails = await withStore(options, async ({ listCustomers }) =>
      (await listCustomers(null, 9)).map(({ email }) => email),
    )
    assert.deepEqual(emails, ['ana@example.com'])
    assert.equal(database.opened.at(-1), 'command')
    assert.equal(database.closed, closedBefore + 1)
    assert.deepEqual(await applyMigrations(options), ['0001_made_up'])
    assert.deepEqual(await listPendingMigrations(options), ['0002_made_up'])
  })

  test('acknowledges a command’s change once every cached validation has expired', async () => {
    const options = { configuration: createConfiguration({ TOKEN_CACHE_TTL: '300ms' }), database }
    const beganMs = performance.now()
    await withStore(options, async ({ customers, deadline }) => {
      const found = await customers.find('ana@example.com', deadline())
      assert.ok(found)
      await customers.disable(found.id, deadline())
    })
    // The cache TTL plus the maximum duration of a lookup that began before the change.
    assert.ok(performance.now() - beganMs >= 1299)
  })

  test('uses the configured adapters', async () => {
    const secrets = { issue: () => ({ secret: 'mine', digest: 'a'.repeat(64) }), digestOf: () => null }
    const other = memoryDatabase()
    const log = pinoLog({ level: 'silent' })
    const own = await startService({
      configuration,
      log,
      database: other,
      adapters: { secrets },
      version: '1',
    })
    try {
      const { customers, deadline } = own.useCases
      await customers.add(
        { email: 'bea@example.com', name: null, password: { password: PASSWORD } },
        deadline(),
      )
      const body = { email: 'bea@example.com', password: PASSWORD }
      assert.equal((await callAt(own.url, '/api/login', { body })).body.token, 'mine')
    } finally {
      await own.stop({ delay: false })
    }
    assert.equal(other.closed, 1)
  })
})

describe('doctor on a custom database', () => {
  const diagnoseDatabase = async (database: Database) =>
    (await diagnose({ database, adapters: { passwords: fakePasswords() } })).findings.filter(({ name }) =>
      name.startsWith('database'),
    )

  test('reports the findings of that database and ignores DATABASE_URL', async () => {
    const found = checkPassed('database.shelf', 'It is there.', { books: 3 })
    assert.deepEqual(await diagnoseDatabase({ ...memoryDatabase(), examine: async () => [found] }), [found])
  })

  test('reports a database without checks and a failed check', async () => {
    const [nothing] = await diagnoseDatabase(memoryDatabase())
    assert.equal(nothing?.state, 'ok')
    const failing = async () => Promise.reject(new Error('no\nshelf'))
    const [failed] = await diagnoseDatabase({ ...memoryDatabase(), examine: failing })
    assert.deepEqual([failed?.state, failed?.message], ['failure', 'no shelf'])
  })
})

describe('doctor on PostgreSQL with custom migrations', () => {
  const examineDatabase = async (own: readonly MigrationSet[], env: Record<string, string>) => {
    const context = {
      configuration: createConfiguration(env),
      log: pinoLog({ level: 'silent' }),
      clock: systemClock,
    }
    return (await postgresDatabase({ migrations: own }).examine?.(context)) ?? []
  }

  test('reports missing migrations, without which the service would not start', async (t) => {
    const database = await createTestDatabase()
    t.after(() => database.drop())
    const folder = join(import.meta.dirname, '../examples/orders/sql')
    const orders = { owner: 'orders', folder, table: 'orders_migrations' }
    const env = { DATABASE_URL: database.url, MIGRATE: 'off' }
    const findMigrationCheck = (findings: readonly CheckResult[]) =>
      findings.find(({ name }) => name === 'database.migrations')
    assert.deepEqual(findMigrationCheck(await examineDatabase([], env))?.state, 'ok')
    const found = findMigrationCheck(await examineDatabase([orders], env))
    assert.deepEqual([found?.state, found?.message], ['failure', 'The schema lacks 0001_orders.'])
  })
})

describe('A check of a database', () => {
  test('reports a database that throws as unreachable', async () => {
    const failing = async () => Promise.reject(new Error('corrupt'))
    const nowhere = { reachable: false, current: false }
    const opened = { close: async () => {} } as OpenDatabase
    assert.deepEqual(await checkDatabase({ ...opened, ready: failing }, systemClock), nowhere)
    assert.deepEqual(
      await checkDatabase({ ...opened, ready: async () => true, checkStatus: failing }, systemClock),
      nowhere,
    )
  })
})

describe('several workers on a custom database', () => {
  const open: OpenDatabase = {
    ...({} as Pick<OpenDatabase, 'customers' | 'loginTokens' | 'oneTimeTokens'>),
    ready: async () => true,
    close: async () => {},
  }
  const invalidations = { subscribe() {}, isCurrent: () => true, publish: async () => {} }

  test('are refused in one line if only one process can open it', () => {
    assert.throws(
      () => workerEnvironment(open, createConfiguration({ WORKERS: '2', TOKEN_CACHE_TTL: '0s' })),
      {
        name: 'DatabaseUnusable',
        message: 'WORKERS=2: only one process can serve from this database.',
      },
    )
  })

  test('are refused if one would cache a token that another revoked', () => {
    const shared = { ...open, workerEnv: { FILE: 'a' } }
    const cached = createConfiguration({ WORKERS: '2' })
    const isRefusal = (error: Error) =>
      error instanceof DatabaseUnusable && error.forOperators && /TOKEN_CACHE_TTL=0s/.test(error.message)
    assert.throws(() => workerEnvironment(shared, cached), isRefusal)
    assert.deepEqual(workerEnvironment({ ...shared, invalidations }, cached), { FILE: 'a' })
    const uncached = createConfiguration({ WORKERS: '2', TOKEN_CACHE_TTL: '0s' })
    assert.deepEqual(workerEnvironment(shared, uncached), { FILE: 'a' })
  })

  describe('as a program', () => {
    let folder: Awaited<ReturnType<typeof ownProgram>>
    let database: TestDatabase
    before(async () => {
      database = await createTestDatabase()
      folder = await ownProgram(
        'my-service.ts',
        `import { postgresDatabase, runProgram } from 'latchkey'

const database = {
  ...postgresDatabase(),
  async open(...args: Parameters<ReturnType<typeof postgresDatabase>['open']>) {
    const { invalidations, throttle, workerEnv, ...opened } = await postgresDatabase().open(...args)
    return process.env.SHARED === undefined ? opened : { ...opened, workerEnv }
  },
}

await runProgram({ version: '1.0.0', database })
`,
      )
    })
    after(async () => {
      folder.remove()
      await database.drop()
    })
    const run = (env: Readonly<Record<string, string>>) =>
      startProcess(process.execPath, ['--import', 'tsx', 'my-service.ts'], {
        cwd: folder.path,
        env: {
          PORT: '0',
          WORKERS: '2',
          DATABASE_URL: database.url,
          BCRYPT_COST: '10',
          ...UNTHROTTLED,
          ...env,
        },
      })

    test('are refused before a worker starts', async () => {
      for (const [env, line] of [
        [{}, /^latchkey: WORKERS=2: only one process can serve from this database\.\n$/],
        [{ SHARED: '1' }, /^latchkey: WORKERS=2 needs TOKEN_CACHE_TTL=0s on this database, .*\n$/],
      ] as const) {
        const { code, stderr } = await run(env).ended
        assert.equal(code, 1)
        assert.match(stderr, line)
      }
    })

    test('serve without a cache, and all refuse a token that one revoked', async () => {
      const service = run({ SHARED: '1', TOKEN_CACHE_TTL: '0s' })
      try {
        const url = (await service.until(/running at (\S+)/))[1] ?? ''
        assert.match(service.stdout(), /"workers\.apart"/)
        await database.sql(
          'insert into customers (id, email, password_hash, created_at) values (gen_random_uuid(), $1, $2, now())',
          [EMAIL, HASH],
        )
        const body = { email: EMAIL, password: PASSWORD }
        const { token } = (await callAt(url, '/api/login', { body })).body
        // A new connection each, so that every worker gets a request.
        const me = async () => {
          // On a busy machine the store may not respond in time.
          for (let attempt = 1; ; attempt++) {
            const { status } = await callAt(url, '/api/me', { token, headers: { Connection: 'close' } })
            if (status !== 503 || attempt === 20) return status
          }
        }
        const statuses = async () => new Set(await Promise.all(Array.from({ length: 20 }, me)))
        assert.deepEqual(await statuses(), new Set([200]))
        assert.equal((await callAt(url, '/api/logout', { token })).status, 200)
        assert.deepEqual(await statuses(), new Set([401]))
      } finally {
        service.child.kill('SIGTERM')
        await service.ended
      }
    })
  })
})
