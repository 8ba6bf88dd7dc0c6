import { bcryptPasswordHasher } from '../adapters/bcrypt/password-hasher.ts'
import { readConfiguration } from '../adapters/config/read-configuration.ts'
import type { SettingName } from '../adapters/config/settings.ts'
import type { ObjectSchema } from '../adapters/http/routing/declared-route.ts'
import { type RunningServer, startServer } from '../adapters/http/server/server.ts'
import { memoryCustomers } from '../adapters/memory/customers.ts'
import { memoryInvalidations } from '../adapters/memory/invalidations.ts'
import { memoryLoginThrottle } from '../adapters/memory/login-throttle.ts'
import { memoryLoginTokens } from '../adapters/memory/login-tokens.ts'
import { memoryStore } from '../adapters/memory/store.ts'
import { nodeCache } from '../adapters/node-cache/cache.ts'
import { randomIds } from '../adapters/node-crypto/ids.ts'
import { newServiceSecret, serviceSecrets } from '../adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../adapters/node-crypto/token-secrets.ts'
import { zxcvbnPasswordBlocklist } from '../adapters/zxcvbn/password-blocklist.ts'
import type { Configuration } from '../application/configuration.ts'
import { type CachedToken, cachedLoginTokens } from '../application/login-tokens/cached.ts'
import { invalidatingLoginTokens } from '../application/login-tokens/invalidating.ts'
import { createUsageBuffer } from '../application/login-tokens/usage-buffer.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Ports } from '../application/ports/ports.ts'
import { createUseCases, type UseCases } from '../application/use-cases/use-cases.ts'
import { openOps } from '../composition/ops.ts'
import { type RoutesOptions, routeTable } from '../composition/route-table.ts'
import type { Customer } from '../domain/customer.ts'
import type { Clock } from '../lib/clock.ts'
import { type Called, type CallOptions, callAt } from './call.ts'
import { type MovableClock, movableClock, neverStuck } from './movable-clock.ts'
import { type Logged, type Recorded, recordingAuditLog, recordingLog } from './recorded.ts'

/** The options of a test app. */
export interface TestAppOptions<Me extends ObjectSchema = ObjectSchema>
  extends Pick<RoutesOptions<Me>, 'routes' | 'me'> {
  /** Settings as in the environment, such as `{ TOKEN_TTL: '1h' }`. The defaults suit tests. */
  readonly settings?: Readonly<Partial<Record<SettingName, string>>>
}

/** A customer of a test app, with the password in clear text. */
export interface TestCustomer extends Customer {
  readonly password: string
}

/** A client that sends a token with every request. */
export interface TestCaller {
  /** The secret of the token. */
  readonly secret: string
  /** Calls `POST <path>`, unless the options set another method; returns the response. */
  call(path: string, options?: CallOptions): Promise<Called>
}

/** A running service whose stores are in memory. */
export interface TestApp {
  /** The address, without a trailing slash. */
  readonly url: string
  /** The use cases, as custom routes receive them. */
  readonly useCases: UseCases
  /** Stands still until the test advances it: tokens, limits and cache entries expire only then. */
  readonly clock: MovableClock
  /** Every event of the audit log so far. */
  readonly audit: readonly Recorded[]
  /** Every thrown error that led to a response with 500 or 503 so far. */
  readonly errors: readonly unknown[]
  /** Every line of the log so far. */
  readonly logged: readonly Logged[]
  /** Calls `POST <path>`, unless the options set another method; returns the response. */
  call(path: string, options?: CallOptions): Promise<Called>
  /** Stores a customer; by default with a unique e-mail and a valid password. Throws when the e-mail is taken. */
  customer(different?: {
    readonly email?: string
    readonly name?: string | null
    readonly password?: string
  }): Promise<TestCustomer>
  /**
   * Creates a named token with these abilities, as `latchkey token create` does, and returns a client that sends it. Throws
   * when the customer is disabled or deleted.
   */
  as(
    customer: Pick<Customer, 'id'>,
    token: {
      readonly abilities: readonly string[]
      readonly name?: string
      /** Null, the default, for a token that never expires. */
      readonly expiresAtMs?: number | null
    },
  ): Promise<TestCaller>
  /** Returns a client that sends the first service token of `SERVICE_TOKENS`. */
  asService(): TestCaller
  /** Stops the server and discards its stores. */
  close(): Promise<void>
}

const TEST_SETTINGS: Readonly<Partial<Record<SettingName, string>>> = {
  PORT: '0',
  BCRYPT_COST: '4',
  COMMON_PASSWORDS: 'accepted',
  SERVICE_TOKENS: `tests=${newServiceSecret()}`,
}
const DRAIN_DEADLINE_MS = 1000
const VERSION = '0.0.0-tests'

/**
 * Starts a service on a free port, composed as in production: its routes, use cases, cache, throttle and secrets are the
 * real ones, and only its stores are in memory. It takes milliseconds. Passwords are hashed at the lowest cost. Settings
 * of the database, workers and logs have no effect. Rejects when a route or a setting is invalid.
 */
export async function createTestApp<Me extends ObjectSchema = ObjectSchema>(
  options: TestAppOptions<Me> = {},
): Promise<TestApp> {
  const { configuration } = readConfiguration({
    env: { ...TEST_SETTINGS, ...options.settings },
    dotEnv: null,
  })
  const clock = neverStuck(movableClock(Date.now()))
  const { logged, ...log } = recordingLog()
  const { recorded, ...audit } = recordingAuditLog()
  const stores = memoryPorts(configuration, clock, audit)
  const usage = createUsageBuffer(stores.loginTokens, clock, log)
  const useCases = createUseCases(configuration.tokenLastUsed ? { ...stores, usage } : stores, configuration)
  // A test app has no metrics.
  const collectMetrics = async () => []
  const table = routeTable({ ...(options as TestAppOptions), configuration, version: VERSION }, useCases, {
    readiness: async () => ({ ready: !server.draining(), checks: {} }),
    url: () => configuration.publicUrl ?? server.url,
    collectMetrics,
    ops: openOps({ configuration, version: VERSION, clock, collect: collectMetrics }),
  })
  const errors: unknown[] = []
  const access = { everyResponse: false, responded() {} }
  const server: RunningServer = await startServer(table, useCases, log, access, configuration, {
    onError: (error) => errors.push(error),
  })
  let customers = 0

  return {
    url: server.url,
    useCases,
    clock,
    audit: recorded,
    errors,
    logged,
    call: (path, options) => callAt(server.url, path, options),

    async customer(different = {}) {
      const {
        email = `customer-${++customers}@example.com`,
        name = 'Ada',
        password = 'correct horse 9',
      } = different
      const customer = await useCases.customers.add(
        { email, name, password: { password } },
        useCases.deadline(),
      )
      if (customer === null) throw new Error(`The e-mail ${email} is taken.`)
      return { ...customer, password }
    },

    async as({ id }, { abilities, name = 'tests', expiresAtMs = null }) {
      const created = await useCases.tokens.create(
        { customerId: id, name, abilities, expiresAtMs },
        useCases.deadline(),
      )
      if (created === null) throw new Error('The customer is disabled or deleted.')
      return callerWith(created.secret)
    },

    // There is always one: a setting cannot be unset.
    asService: () => callerWith(configuration.serviceTokens[0]?.secret ?? ''),

    async close() {
      await server.drain({ delayMs: 0, deadlineMs: DRAIN_DEADLINE_MS })
      await usage.close()
    },
  }

  function callerWith(secret: string): TestCaller {
    return { secret, call: (path, options) => callAt(server.url, path, { token: secret, ...options }) }
  }
}

/** Creates the ports as in production, with stores in memory. */
function memoryPorts(configuration: Configuration, clock: Clock, audit: AuditLog): Ports {
  const { bcryptCost, tokenPrefix, tokenCacheTtlMs: ttlMs, tokenCacheMax: maxEntries } = configuration
  const store = memoryStore()
  const invalidations = memoryInvalidations()
  const inner = memoryLoginTokens(store)
  return {
    customers: memoryCustomers(store),
    loginTokens:
      ttlMs === 0
        ? invalidatingLoginTokens(inner, invalidations)
        : cachedLoginTokens(inner, nodeCache<CachedToken>({ maxEntries }), invalidations, clock, { ttlMs }),
    invalidations,
    passwords: bcryptPasswordHasher({ cost: bcryptCost }),
    blocklist: configuration.refusesCommonPasswords ? zxcvbnPasswordBlocklist() : { has: () => false },
    throttle: memoryLoginThrottle(configuration, clock),
    secrets: tokenSecrets({ prefix: tokenPrefix }),
    serviceSecrets: serviceSecrets(configuration.serviceTokens),
    clock,
    ids: randomIds,
    usage: { used() {} },
    audit,
  }
}
