import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, OpenDatabase, Role } from '../../application/ports/database.ts'
import type { Invalidation } from '../../application/ports/invalidations.ts'
import { isForOperators } from '../../lib/operator-error.ts'
import { type DatabaseEnv, databaseContext } from '../database/context.ts'
import { startDatabaseProcesses } from '../database/processes.ts'
import type { Release } from '../holds.ts'
import { type TestRunner, withTimeout } from '../runner.ts'
import { login, namedToken, type Stores, storedCustomer, TIMEOUT_MS, unrevoked } from '../stores.ts'

/** An empty database under test, without its schema. */
export interface TriedDatabase {
  /** Opens a new connection for each `open`. */
  readonly database: Database
  /** The settings that locate it, such as `DATABASE_URL` or `DATA_DIR`. */
  readonly env: DatabaseEnv
  /** False when its invalidations are never current, so that no process caches a token. Default: true. */
  readonly caches?: boolean
  /** Makes it stop responding until it is released. Without this function, its test is skipped. */
  readonly stall?: () => Promise<Release>
  /** Forks a program that calls `runDatabaseProcess`. Without this function, the tests of several processes are skipped. */
  readonly fork?: () => ChildProcess
  /** Called after the test, whether or not it passed. */
  dispose(): Promise<void>
}

const PROCESSES = 3

/**
 * The contract of `Database`: migrations are applied once, by whichever process; every open database has the same data,
 * counts and invalidations; readiness follows the database. Each `open` stands for a process; with `fork`, migrations and
 * logins also race between real processes. `create` returns an empty database for each test. Takes 0.2 s in memory, and 20 to 50 s on
 * PostgreSQL.
 */
export function databaseContract(
  name: string,
  create: () => Promise<TriedDatabase>,
  runner?: TestRunner,
): void {
  const { describe, it } = withTimeout(runner)
  describe(`${name} keeps the contract of Database:`, () => {
    sentence('migrations are pending until they are applied, in order', async ({ pending, migrate }) => {
      const names = await pending()
      assert.deepEqual(await pending(), names, 'to list the migrations has changed them')
      assert.deepEqual(await migrate(), names)
      assert.deepEqual([await pending(), await migrate()], [[], []])
    })

    sentence('parallel migrations apply each one once', async ({ pending, migrate }) => {
      const names = await pending()
      const applied = await Promise.all([migrate(), migrate(), migrate(), migrate()])
      assert.deepEqual(applied.flat(), names)
      assert.deepEqual(await pending(), [])
    })

    sentence('with MIGRATE=off, a missing schema is refused in one line for operators', async (tried) => {
      const names = await tried.pending()
      if (names.length === 0) return tried.skip('It has no migrations.')
      await assert.rejects(
        tried.open('service', { MIGRATE: 'off' }),
        (error) => isForOperators(error) && !error.message.includes('\n'),
        'it opened, or rejected with another error',
      )
      assert.deepEqual(await tried.pending(), names, 'it has migrated')
    })

    sentence('several processes open an empty database at once', async ({ open, pending }) => {
      const opened = await Promise.all([open('service'), open('service'), open('command')])
      for (const each of opened) assert.equal(await each.ready(TIMEOUT_MS), true)
      assert.ok(opened.filter(({ fresh }) => fresh).length <= 1, 'several calls created the schema')
      assert.deepEqual(await pending(), [])
    })

    for (const role of ['service', 'primary', 'command'] as const) {
      sentence(`a ${role} finds what was stored before it opened the database`, async ({ open, close }) => {
        const first = await open('service')
        const customer = await storedCustomer(toStores(first))
        const { token, digest } = await login(toStores(first), customer)
        await close(first)
        const { customers, loginTokens } = await open(role)
        assert.equal((await customers.findByEmail(customer.email, TIMEOUT_MS))?.customer.id, customer.id)
        assert.equal((await loginTokens.findByDigest(digest, TIMEOUT_MS))?.token.id, token.id)
      })
    }

    sentence('a change is seen at once by every process', async ({ open }) => {
      const [one, other, command] = await Promise.all([open('service'), open('service'), open('command')])
      const customer = await storedCustomer(toStores(one))
      const first = await login(toStores(other), customer)
      const second = await login(toStores(one), customer)
      assert.deepEqual(
        (await unrevoked(toStores(command), customer.id)).map(({ id }) => id),
        [second.token.id],
      )
      await command.customers.disable(customer.id, 1_900_000_000_000, TIMEOUT_MS)
      for (const { loginTokens } of [one, other])
        for (const { digest } of [first, second]) {
          const found = await loginTokens.findByDigest(digest, TIMEOUT_MS)
          assert.equal(typeof found?.token.revokedAtMs, 'number')
          assert.equal(found?.customer.disabledAtMs, 1_900_000_000_000)
        }
    })

    sentence('a closed database leaves the others open', async ({ open, close }) => {
      const [one, other] = await Promise.all([open('service'), open('service')])
      await close(one)
      assert.equal(await other.ready(TIMEOUT_MS), true)
      await storedCustomer(toStores(other))
    })

    sentence('it is ready while it responds, and not ready while it does not', async (tried) => {
      if (tried.stall === undefined) return tried.skip('The database under test has no function stall.')
      const opened = await tried.open('service')
      const resume = await tried.stall()
      const isReady = await opened.ready(250).finally(resume)
      assert.equal(isReady, false)
      await until(() => opened.ready(250))
    })

    sentence('a worker opens the same database with its variables', async ({ open, skip }) => {
      const primary = await open('primary')
      if (primary.workerEnv === undefined) return skip('Only one process may open it.')
      const customer = await storedCustomer(toStores(primary))
      const worker = await open('service', primary.workerEnv)
      const found = await worker.customers.findByEmail(customer.email, TIMEOUT_MS)
      assert.equal(found?.customer.id, customer.id)
    })

    sentence('the active tokens of every process are counted', async ({ open, skip }) => {
      const [one, other] = await Promise.all([open('service'), open('service')])
      if (one.countActiveTokens === undefined) return skip('It does not count tokens.')
      const customer = await storedCustomer(toStores(one))
      for (const opened of [one, other]) await login(toStores(opened), customer)
      await namedToken(toStores(other), customer, { expiresAtMs: Date.now() - 1000 })
      await namedToken(toStores(other), customer, { expiresAtMs: null })
      assert.equal(await one.countActiveTokens(), 2)
    })

    sentence('slots for logins are counted over all processes', async ({ open, skip }) => {
      const env = { LOGIN_LIMIT_ACCOUNT: '10/15m', LOGIN_LIMIT_ADDRESS: 'off' }
      const throttles = (await Promise.all([open('service', env), open('service', env)])).flatMap(
        ({ throttle = [] }) => throttle,
      )
      if (throttles.length === 0) return skip('Each process counts in its own memory.')
      const attempt = { account: 'ana@example.com', address: '192.0.2.1' }
      const admissions = await Promise.all(
        Array.from({ length: 15 }, () =>
          throttles.map((throttle) => throttle.take(attempt, TIMEOUT_MS)),
        ).flat(),
      )
      assert.equal(admissions.filter(({ kind }) => kind === 'taken').length, 10)
    })

    sentence('an invalidation has reached every process when its publication resolves', async (tried) => {
      const [one, other] = await Promise.all([tried.open('service'), tried.open('service')])
      if (one.invalidations === undefined || other.invalidations === undefined)
        return tried.skip('It has no invalidations.')
      if (tried.caches === false) {
        await one.invalidations.publish({ kind: 'everything' })
        for (const { invalidations } of [one, other])
          assert.equal(invalidations?.isCurrent(), false, 'a process may use its cache')
        return
      }
      const applied: Invalidation[] = []
      other.invalidations.subscribe((invalidation) => applied.push(invalidation))
      for (const invalidations of [one.invalidations, other.invalidations])
        await until(() => invalidations.isCurrent())
      await one.invalidations.publish({ kind: 'everything' })
      assert.ok(applied.length > 0, 'it has not arrived')
    })

    sentence('migrations in several real processes apply each one once', async (tried) => {
      if (tried.fork === undefined) return tried.skip('The database under test has no function fork.')
      const names = await tried.pending()
      const processes = startDatabaseProcesses(PROCESSES, tried.fork)
      try {
        assert.deepEqual((await processes.migrate(tried.env)).flat(), names)
      } finally {
        await processes.end()
      }
    })

    sentence('parallel logins in several real processes leave one active token', async (tried) => {
      if (tried.fork === undefined) return tried.skip('The database under test has no function fork.')
      const processes = startDatabaseProcesses(PROCESSES, tried.fork)
      try {
        const stores = { ...processes.stores(tried.env), dispose: tried.dispose }
        const customer = await storedCustomer(stores)
        // Only the last logins of a round can leave several tokens, so that short rounds race most often.
        for (let round = 0; round < 20; round += 1) {
          const logins = await Promise.all(Array.from({ length: PROCESSES }, () => login(stores, customer)))
          assert.deepEqual(new Set(logins.map(({ accepted }) => accepted)), new Set([true]))
          assert.equal((await unrevoked(stores, customer.id)).length, 1)
        }
      } finally {
        await processes.end()
      }
    })
  })

  function sentence(title: string, check: (tried: Trial) => Promise<void> | void): void {
    it(title, async ({ skip }) => {
      const tried = await create()
      const { database, env } = tried
      const opened = new Set<OpenDatabase>()
      const close = async (one: OpenDatabase) => {
        opened.delete(one)
        await one.close()
      }
      try {
        await check({
          ...tried,
          close,
          async open(role, different = {}) {
            const one = await database.open(role, databaseContext({ ...env, ...different }))
            opened.add(one)
            return one
          },
          migrate: () => database.migrate(databaseContext(env)),
          pending: () => database.pendingMigrations(databaseContext(env)),
          skip,
        })
      } finally {
        for (const one of opened) await close(one)
        await tried.dispose()
      }
    })
  }
}

/** A database under test, whose open databases are closed after the test. */
interface Trial extends TriedDatabase {
  open(role: Role, env?: DatabaseEnv): Promise<OpenDatabase>
  close(opened: OpenDatabase): Promise<void>
  migrate(): Promise<readonly string[]>
  pending(): Promise<readonly string[]>
  skip(reason: string): void
}

function toStores({ customers, loginTokens }: OpenDatabase): Stores {
  return { customers, loginTokens, dispose: async () => {} }
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + TIMEOUT_MS; !(await holds()); await sleep(5))
    assert.ok(performance.now() < endMs, `It never came: ${holds}`)
}
