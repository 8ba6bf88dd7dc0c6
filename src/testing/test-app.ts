import { readConfiguration } from '../adapters/config/read-configuration.ts'
import type { SettingName } from '../adapters/config/settings.ts'
import type { ObjectSchema } from '../adapters/http/routing/declared-route.ts'
import { memoryDatabase } from '../adapters/memory/database.ts'
import { newServiceSecret } from '../adapters/node-crypto/service-secrets.ts'
import type { Database, OpenDatabase } from '../application/ports/database.ts'
import type { UseCases } from '../application/use-cases/use-cases.ts'
import type { AdapterOverrides } from '../composition/adapters.ts'
import type { RoutesOptions } from '../composition/routes-options.ts'
import { startService } from '../composition/service.ts'
import type { ServiceHooks } from '../composition/service-hooks.ts'
import { type MovableClock, movableClock, neverStuck } from './movable-clock.ts'
import { type Logged, type Recorded, recordingAuditLog, recordingLog } from './recorded.ts'
import { createTestClients, type TestCaller, type TestClients, testCaller } from './test-clients.ts'

/** The options of a test app. */
export interface TestAppOptions<
  Me extends ObjectSchema = ObjectSchema,
  Open extends OpenDatabase = OpenDatabase,
> extends Pick<RoutesOptions<Me, Open>, 'routes' | 'me' | 'title' | 'description' | 'docs'>,
    ServiceHooks<Open> {
  /**
   * The database, such as `postgresDatabase({ migrations })`, whose address `settings` has as `DATABASE_URL`. Default: stores in
   * memory.
   */
  readonly database?: Database<Open>
  /** Adapters that replace the defaults, such as `passwords`. */
  readonly adapters?: Omit<AdapterOverrides, 'clock' | 'audit'>
  /** Settings as in the environment, such as `{ TOKEN_TTL: '1h' }`. The defaults suit tests. */
  readonly settings?: Readonly<Partial<Record<SettingName, string>>>
}

/** A running service, with its stores in memory unless another database was given. */
export interface TestApp extends TestClients {
  /** The address, without a trailing slash. */
  readonly url: string
  /** The use cases, as custom routes receive them. */
  readonly useCases: UseCases
  /** Stands still until the test advances it: tokens, limits and cache entries expire only then. */
  readonly clock: MovableClock
  /** Every event of the audit log so far. */
  readonly audit: readonly Recorded[]
  /** Every thrown error that led to a response of status 500 or higher so far. */
  readonly errors: readonly unknown[]
  /** Every line of the log so far. */
  readonly logged: readonly Logged[]
  /** Returns a client that sends the first service token of `SERVICE_TOKENS`. */
  asService(): TestCaller
  /** Stops the server and discards its stores. */
  close(): Promise<void>
}

const TEST_SETTINGS: Readonly<Partial<Record<SettingName, string>>> = {
  PORT: '0',
  BCRYPT_COST: '4',
  COMMON_PASSWORDS: 'accepted',
  DRAIN_DEADLINE: '1s',
  SERVICE_TOKENS: `tests=${newServiceSecret()}`,
}
const VERSION = '0.0.0-tests'

/**
 * Starts a service on a free port by `startService`, as in production: only its database is in memory. It takes
 * milliseconds. Passwords are hashed at the lowest cost. Settings of the database, workers and logs have no effect.
 * Rejects when a route or a setting is invalid.
 */
export async function createTestApp<
  Me extends ObjectSchema = ObjectSchema,
  Open extends OpenDatabase = OpenDatabase,
>(options: TestAppOptions<Me, Open> = {}): Promise<TestApp> {
  const { settings, adapters, database = memoryDatabase() as Database<Open>, ...own } = options
  const env = { ...TEST_SETTINGS, ...settings }
  const { configuration } = readConfiguration({ env, dotEnv: null })
  const clock = neverStuck(movableClock(Date.now()))
  const { logged, ...log } = recordingLog()
  const { recorded, ...audit } = recordingAuditLog()
  const errors: unknown[] = []
  const { address, useCases, stop } = await startService({
    ...own,
    configuration,
    version: VERSION,
    database,
    adapters: { ...adapters, clock, audit },
    log,
    accessLines: { write() {}, close() {} },
    onError: (error) => errors.push(error),
  })

  return {
    ...createTestClients(address, useCases),
    url: address,
    useCases,
    clock,
    audit: recorded,
    errors,
    logged,
    // There is always one: a setting cannot be unset.
    asService: () => testCaller(address, configuration.serviceTokens[0]?.secret ?? ''),
    close: () => stop({ delay: false }),
  }
}
