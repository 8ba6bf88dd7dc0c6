import { readConfiguration } from '../../src/adapters/config/read-configuration.ts'
import type { Route } from '../../src/adapters/http/route.ts'
import { pinoLog } from '../../src/adapters/pino/log.ts'
import type { Latchkey } from '../../src/application/latchkey.ts'
import type { Customer } from '../../src/domain/customer.ts'
import { type Service, startService } from '../../src/service.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

export const SERVICE_SECRET = 'service-secret-of-the-tests-0123456789'
export const PASSWORD = 'correct horse 9'

/** The service as production composes it, on a port and a database of its own. */
export interface RunningApp {
  readonly url: string
  readonly port: number
  readonly database: TestDatabase
  readonly service: Service
  /** Everything that was logged, at the level `trace`. */
  readonly logLines: string[]
  addCustomer(different?: { readonly email?: string; readonly password?: string }): Promise<Customer>
  /** Logs in over HTTP; answers the secret. */
  login(email: string, password?: string): Promise<string>
  /** Calls with a token, or without one where it is null; the body goes as JSON. */
  call(path: string, options?: CallOptions): Promise<Called>
  close(): Promise<void>
}

export interface CallOptions {
  readonly method?: string
  readonly token?: string | null
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Called {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
  readonly body: any
}

/** Starts the service with settings as an operator would give them; what they leave out suits tests. */
export async function startApp({
  env = {},
  routes,
  database,
}: {
  readonly env?: Readonly<Record<string, string>>
  readonly routes?: (latchkey: Latchkey) => readonly Route[]
  /** Shared with another app, which will drop it. */
  readonly database?: TestDatabase
} = {}): Promise<RunningApp> {
  const own = database ?? (await createTestDatabase())
  const { configuration } = readConfiguration({
    env: {
      DATABASE_URL: own.url,
      PORT: '0',
      BCRYPT_COST: '4',
      SERVICE_TOKENS: `tests=${SERVICE_SECRET}`,
      LOG_LEVEL: 'trace',
      ...env,
    },
    dotEnv: null,
  })
  const logLines: string[] = []
  const log = pinoLog({
    level: configuration.logLevel,
    stream: { write: (line: string) => void logLines.push(line) },
  })
  const service = await startService({
    configuration,
    log,
    accessLines: { write: (line) => void logLines.push(line), close() {} },
    version: '0.0.0-tests',
    ...(routes === undefined ? {} : { routes }),
  })
  let customers = 0

  return {
    url: service.url,
    port: Number(new URL(service.url).port),
    database: own,
    service,
    logLines,

    async addCustomer({ email = `customer-${++customers}@example.com`, password = PASSWORD } = {}) {
      const { latchkey } = service
      const customer = await latchkey.customers.add(
        { email, name: 'Ada', password: { password } },
        latchkey.patience(),
      )
      if (customer === null) throw new Error(`${email} is taken`)
      return customer
    },

    async login(email, password = PASSWORD) {
      const { status, body } = await callAt(service.url, '/api/login', { body: { email, password } })
      if (status !== 200) throw new Error(`login answered ${status}`)
      return body.token
    },

    call: (path, options) => callAt(service.url, path, options),

    async close() {
      await service.stop({ delay: false })
      if (database === undefined) await own.drop()
    },
  }
}

/** Calls a service at its address, in whatever process it runs. */
export async function callAt(
  url: string,
  path: string,
  { method = 'POST', token = null, body, headers = {} }: CallOptions = {},
): Promise<Called> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}
