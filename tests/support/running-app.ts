import { readConfiguration } from '../../src/adapters/config/read-configuration.ts'
import type { MeAnswer } from '../../src/adapters/http/built-in-routes.ts'
import type { Route } from '../../src/adapters/http/declared-route.ts'
import type { SamplingTimes } from '../../src/adapters/ops/samples.ts'
import { pinoLog } from '../../src/adapters/pino/log.ts'
import type { DatabasePool } from '../../src/adapters/postgres/pool.ts'
import type { Latchkey } from '../../src/application/latchkey.ts'
import type { PruningTimes } from '../../src/application/pruning.ts'
import type { Backend } from '../../src/backend.ts'
import type { Customer } from '../../src/domain/customer.ts'
import { openPostgres, postgresBackend } from '../../src/postgres-backend.ts'
import { type Service, startService } from '../../src/service.ts'
import { type Called, type CallOptions, callAt } from '../../src/testing/call.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { UNTHROTTLED } from './running-process.ts'
import { onSqlite, sqliteBackend } from './sqlite.ts'

export const SERVICE_SECRET = 'service-secret-of-the-tests-0123456789'
export const PASSWORD = 'correct horse 9'

/** The service as production composes it, on a port and a database of its own. */
export interface RunningApp {
  readonly url: string
  readonly port: number
  readonly database: TestDatabase
  readonly service: Service
  /** The connections of the service to PostgreSQL. */
  readonly pool: DatabasePool
  /** Everything that was logged, at the level `trace`. */
  readonly logLines: string[]
  /** Every line of the audit log, unless `AUDIT_LOG` sends them to a file. */
  readonly auditLines: string[]
  addCustomer(different?: { readonly email?: string; readonly password?: string }): Promise<Customer>
  /** Stores a token beside the customer's others, as the command does; answers the secret. */
  addToken(customer: Pick<Customer, 'id'>, abilities?: readonly string[]): Promise<string>
  /** Logs in over HTTP; answers the secret. */
  login(email: string, password?: string): Promise<string>
  /** Calls with a token, or without one where it is null; the body goes as JSON. */
  call(path: string, options?: CallOptions): Promise<Called>
  close(): Promise<void>
}

/** Starts the service with settings as an operator would give them; what they leave out suits tests. */
export async function startApp({
  env = {},
  routes,
  me,
  database,
  pruningTimes,
  samplingTimes,
}: {
  readonly env?: Readonly<Record<string, string>>
  readonly routes?: (latchkey: Latchkey) => readonly Route[]
  readonly me?: MeAnswer
  /** Shared with another app, which will drop it. */
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
  const watchedPostgres: Backend = {
    ...postgresBackend,
    async open(role, surroundings) {
      const opened = await openPostgres(role, surroundings)
      pool = opened.pool
      return opened
    },
  }
  const service = await startService({
    configuration,
    backend: onSqlite ? await sqliteBackend() : watchedPostgres,
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
      const { latchkey } = service
      const customer = await latchkey.customers.add(
        { email, name: 'Ada', password: { password } },
        latchkey.patience(),
      )
      if (customer === null) throw new Error(`${email} is taken`)
      return customer
    },

    async addToken({ id }, abilities = ['*']) {
      const { latchkey } = service
      const bot = { customerId: id, name: 'bot', abilities, expiresAtMs: null }
      const made = await latchkey.tokens.create(bot, latchkey.patience())
      if (made === null) throw new Error('there is no such customer')
      return made.secret
    },

    async login(email, password = PASSWORD) {
      const { status, body } = await callAt(service.url, '/api/login', { body: { email, password } })
      if (status !== 200) throw new Error(`login answered ${status}`)
      return body.token
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
