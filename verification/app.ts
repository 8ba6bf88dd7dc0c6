import { setTimeout as sleep } from 'node:timers/promises'
import { createTestDatabase, type TestDatabase } from '../tests/support/database.ts'
import { BEHIND_PROXY, fromAnotherAddress } from '../tests/support/many-addresses.ts'
import type { RawResponse } from '../tests/support/raw-http.ts'
import { PASSWORD, type RunningApp, SERVICE_SECRET, startApp } from '../tests/support/running-app.ts'
import type { Trial } from './row.ts'
import { flawOf } from './wire.ts'
import { tapResponses } from './wiretap.ts'

const CLOSED_MS = 3000

/** The options of `startApp`. */
export type AppOptions = NonNullable<Parameters<typeof startApp>[0]> & {
  /** Whether the row makes the service fail. A 500 and an error in the log are then expected. */
  readonly hasBugs?: boolean
  /** Whether another app uses the database after this one is closed. Only then are connections checked. */
  readonly isSecond?: boolean
}

/**
 * Starts the service as production composes it, and checks what every row requires: each response on the wire is
 * well-formed and none is a 500, the pool keeps its size, no secret is logged, and no connection is left.
 */
export async function withApp(
  trial: Trial,
  { hasBugs = false, isSecond = false, ...options }: AppOptions,
  use: (app: RunningApp) => Promise<void>,
): Promise<void> {
  const database = options.database ?? (await createTestDatabase())
  try {
    const app = await startApp({ ...options, env: { ...BEHIND_PROXY, ...options.env }, database })
    const poolMax = Number(options.env?.DATABASE_POOL_MAX ?? 10)
    const untap = tapResponses(app.port, (response, method) => {
      const flaw = flawOnWire(response, method)
      trial.require(flaw === null, () => `on the wire: ${flaw}`)
      trial.require(hasBugs || response.status !== 500, () => `on the wire: ${response.body}`)
      const size = app.pool.size()
      trial.require(size <= poolMax, () => `${size} connections in a pool of ${poolMax}`)
    })
    try {
      await use(options.env?.TRUST_PROXY === undefined ? fromManyAddresses(app) : app)
    } finally {
      await app.close()
      untap()
    }
    for (const line of [...app.logLines, ...app.auditLines]) {
      const secret = secretIn(line, database)
      trial.require(secret === null, () => `${secret} in the log: ${line}`)
      trial.require(hasBugs || !line.includes('"level":"error"'), () => `logged: ${line}`)
    }
    const backends = isSecond ? 0 : await backendsLeft(database)
    trial.require(backends === 0, () => `${backends} connections to the database were left`)
  } finally {
    if (options.database === undefined) await database.drop()
  }
}

/** Wraps the app so that calls with a token come from many addresses: rejected tokens are limited by address. */
function fromManyAddresses(app: RunningApp): RunningApp {
  const call: RunningApp['call'] = (path, options = {}) =>
    app.call(
      path,
      options.token ? { ...options, headers: { ...fromAnotherAddress(), ...options.headers } } : options,
    )
  return Object.create(app, { call: { value: call } })
}

/** Returns the status of a login. */
export async function loginStatus(app: RunningApp, email: string, password: string): Promise<number> {
  return (await app.call('/api/login', { body: { email, password } })).status
}

function flawOnWire(response: RawResponse, method: string | undefined): string | null {
  const flaw = flawOf(response)
  return method === 'HEAD' && flaw === `${response.status} without a body` ? null : flaw
}

function secretIn(line: string, { url }: TestDatabase): string | null {
  const password = decodeURIComponent(new URL(url).password)
  if (password !== '' && line.includes(password)) return 'the password of the database'
  if (line.includes(SERVICE_SECRET)) return 'a service secret'
  if (line.includes(PASSWORD)) return 'a password'
  if (/\b[a-z][a-z0-9]{0,15}_[0-9A-Za-z]{46}\b/.test(line)) return 'a token'
  return /\$2[abxy]\$\d\d\$/.test(line) ? 'a password hash' : null
}

/** Counts the service's connections on the server. The server takes a moment to notice a closed one. */
async function backendsLeft({ sql }: TestDatabase): Promise<number> {
  for (const endMs = performance.now() + CLOSED_MS; ; await sleep(20)) {
    const rows = await sql(
      `select from pg_stat_activity
       where datname = current_database() and application_name in ('latchkey', 'latchkey listener', 'latchkey heartbeat')`,
    )
    if (rows.length === 0 || performance.now() > endMs) return rows.length
  }
}
