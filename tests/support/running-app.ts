import { readConfiguration } from '../../src/adapters/config/read-configuration.ts'
import type { MeResponse } from '../../src/adapters/http/routes/built-in-routes.ts'
import type { Route } from '../../src/adapters/http/routing/declared-route.ts'
import type { SamplingTimes } from '../../src/adapters/ops/samples.ts'
import { pinoLog } from '../../src/adapters/pino/log.ts'
import type { DatabasePool } from '../../src/adapters/postgres/connection/pool.ts'
import type { PruningTimes } from '../../src/application/jobs/pruning.ts'
import type { Database } from '../../src/application/ports/database.ts'
import type { UseCases } from '../../src/application/use-cases/use-cases.ts'
import { openPostgres } from '../../src/composition/open-postgres.ts'
import { postgresDatabase } from '../../src/composition/postgres-database.ts'
import { type Service, startService } from '../../src/composition/service.ts'
import type { Customer } from '../../src/domain/customer.ts'
import { type Called, type CallOptions, callAt } from '../../src/testing/call.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { UNTHROTTLED } from './running-process.ts'
import { onSqlite, sqliteDatabase } from './sqlite.ts'

export const SERVICE_SECRET = 'service-secret-of-the-tests-0123456789'
export const PASSWORD = 'correct horse 9'

/** Longer than the database takes on a busy machine, in milliseconds: for calls that prepare a test. */
export const BUSY_MS = 60_000

/** The service as production composes it, on a free port and a separate database. */
export interface RunningApp {
  readonly url: string
  readonly port: number
  readonly database: TestDatabase
  readonly service: Service
  /** The service's connections to PostgreSQL. */
  readonly pool: DatabasePool
  /** All log lines, at the level `trace`. */
  readonly logLines: string[]
  /** All lines of the audit log, unless `AUDIT_LOG` sends them to a file. */
  readonly auditLines: string[]
  addCustomer(different?: { readonly email?: string; readonly password?: string }): Promise<Customer>
  /** Stores an additional token, as the command does. Returns the secret. */
  addToken(customer: Pick<Customer, 'id'>, abilities?: readonly string[]): Promise<string>
  /** Logs in over HTTP. Returns the secret. */
  login(email: string, password?: string): Promise<string>
  /** Calls with a token, or without one when it is null. The body is sent as JSON. */
  call(path: string, options?: CallOptions): Promise<Called>
  close(): Promise<void>
}

/** Starts the service with an operator's settings. Omitted settings get values that suit tests. */
export async function startApp({
  env = {},
  routes,
  me,
  database,
  pruningTimes,
  samplingTimes,
}: {
  readonly env?: Readonly<Record<string, string>>
  readonly routes?: (useCases: UseCases) => readonly Route[]
  readonly me?: MeResponse
  /** A database of another app, which will drop it. */
  readonly database?: TestDatabase
  readonly pruningTimes?: PruningTimes
  readonly samplingTimes?: SamplingTimes
} = {}): Promise<RunningApp> {
  const own = database ?? (await createTestDatabase())
  const { configuration } = readConfiguration({
    env: {
      ...own.env,
      PORT: '0',
      BCRYPT_COST: '4',
      SERVICE_TOKENS: `tests=${SERVICE_SECRET}`,
      LOG_LEVEL: 'trace',
      ...UNTHROTTLED,
      ...env,
    },
    dotEnv: null,
  })
  const logLines: string[] = []
  const auditLines: string[] = []
  const log = pinoLog({
    level: configuration.logLevel,
    stream: { write: (line: string) => void logLines.push(line) },
  })
  let pool: DatabasePool | undefined
  const watchedPostgres: Database = {
    ...postgresDatabase(),
    async open(role, context) {
      const opened = await openPostgres(role, context)
      pool = opened.pool
      return opened
    },
  }
  const service = await startService({
    configuration,
    database: onSqlite ? await sqliteDatabase() : watchedPostgres,
    log,
    accessLines: { write: (line) => void logLines.push(line), close() {} },
    auditLines: { write: (line) => void auditLines.push(line) },
    version: '0.0.0-tests',
    ...(routes === undefined ? {} : { routes }),
    ...(me === undefined ? {} : { me }),
    ...(pruningTimes === undefined ? {} : { pruningTimes }),
    samplingTimes,
  })
  let customers = 0
  let closed: Promise<void> | undefined

  return {
    url: service.url,
    port: Number(new URL(service.url).port),
    database: own,
    service,
    get pool() {
      if (pool === undefined) throw new Error('The service has no connections to PostgreSQL.')
      return pool
    },
    logLines,
    auditLines,

    async addCustomer({ email = `customer-${++customers}@example.com`, password = PASSWORD } = {}) {
      const { useCases } = service
      const customer = await useCases.customers.add(
        { email, name: 'Ada', password: { password } },
        useCases.deadline(BUSY_MS),
      )
      if (customer === null) throw new Error(`${email} is taken`)
      return customer
    },

    async addToken({ id }, abilities = ['*']) {
      const { useCases } = service
      const bot = { customerId: id, name: 'bot', abilities, expiresAtMs: null }
      const made = await useCases.tokens.create(bot, useCases.deadline(BUSY_MS))
      if (made === null) throw new Error('there is no such customer')
      return made.secret
    },

    async login(email, password = PASSWORD) {
      for (const endMs = performance.now() + BUSY_MS; ; ) {
        const { status, body } = await callAt(service.url, '/api/login', { body: { email, password } })
        if (status === 200) return body.token
        // On a busy machine, the database may take longer than a request waits.
        if (status !== 503 || performance.now() > endMs) throw new Error(`login returned ${status}`)
      }
    },

    call: (path, options) => callAt(service.url, path, options),

    close() {
      closed ??= close()
      return closed
    },
  }

  async function close(): Promise<void> {
    await service.stop({ delay: false })
    if (database === undefined) await own.drop()
  }
}
