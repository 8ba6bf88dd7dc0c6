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

/** What a test app is made from. */
export interface TestAppOptions<Me extends ObjectSchema = ObjectSchema>
  extends Pick<RoutesOptions<Me>, 'routes' | 'me'> {
  /** Settings as the environment gives them, such as `{ TOKEN_TTL: '1h' }`; what they leave out suits tests. */
  readonly settings?: Readonly<Partial<Record<SettingName, string>>>
}

/** A customer of a test app, with the password in clear. */
export interface TestCustomer extends Customer {
  readonly password: string
}

/** Somebody who presents a token with every call. */
export interface TestCaller {
  /** The token's text. */
  readonly secret: string
  call(path: string, options?: CallOptions): Promise<Called>
}

/** A service over memory that is called over HTTP. */
export interface TestApp {
  /** The address without a slash at its end. */
  readonly url: string
  /** Every use case, as routes of one's own are given them. */
  readonly useCases: UseCases
  /** Stands still until it is moved: tokens expire, limits and caches end when a test says so. */
  readonly clock: MovableClock
  /** Everything that the audit log was told so far. */
  readonly audit: readonly Recorded[]
  /** Every error that was responded to with 500 or 503 so far, as it was thrown. */
  readonly errors: readonly unknown[]
  /** Everything that was logged so far. */
  readonly logged: readonly Logged[]
  /** Calls `POST <path>` with whatever the options say instead. */
  call(path: string, options?: CallOptions): Promise<Called>
  /** Stores a customer, with an e-mail of its own and a good password where none is given. */
  customer(different?: {
    readonly email?: string
    readonly name?: string | null
    readonly password?: string
  }): Promise<TestCustomer>
  /** Makes a named token with these abilities, as `latchkey token create` does, and calls with it. */
  as(
    customer: Pick<Customer, 'id'>,
    token: {
      readonly abilities: readonly string[]
      readonly name?: string
      /** Null, which it is by default, for a token that never expires. */
      readonly expiresAtMs?: number | null
    },
  ): Promise<TestCaller>
  /** A program with the first of the service tokens in `SERVICE_TOKENS`. */
  asService(): TestCaller
  /** Ends the server; what was stored is gone. */
  close(): Promise<void>
}

const SUITED: Readonly<Partial<Record<SettingName, string>>> = {
  PORT: '0',
  BCRYPT_COST: '4',
  COMMON_PASSWORDS: 'accepted',
  SERVICE_TOKENS: `tests=${newServiceSecret()}`,
}
const DRAIN_DEADLINE_MS = 1000
const VERSION = '0.0.0-tests'

/**
 * Starts a service as production composes it, on a free port: its routes, use cases, cache, throttle and secrets are the
 * real ones, and only what is stored is in memory. It takes milliseconds; passwords are hashed at the cheapest cost, and
 * settings of database, workers and logs mean nothing to it. A mistake in a route or a setting rejects.
 */
export async function createTestApp<Me extends ObjectSchema = ObjectSchema>(
  options: TestAppOptions<Me> = {},
): Promise<TestApp> {
  const { configuration } = readConfiguration({ env: { ...SUITED, ...options.settings }, dotEnv: null })
  const clock = neverStuck(movableClock(Date.now()))
  const { logged, ...log } = recordingLog()
  const { recorded, ...audit } = recordingAuditLog()
  const stores = memoryPorts(configuration, clock, audit)
  const usage = createUsageBuffer(stores.loginTokens, clock, log)
  const keys = createUseCases(configuration.tokenLastUsed ? { ...stores, usage } : stores, configuration)
  // Nothing is measured.
  const collectMetrics = async () => []
  const table = routeTable({ ...(options as TestAppOptions), configuration, version: VERSION }, keys, {
    readiness: async () => ({ ready: !server.draining(), checks: {} }),
    url: () => configuration.publicUrl ?? server.url,
    collectMetrics,
    ops: openOps({ configuration, version: VERSION, clock, collect: collectMetrics }),
  })
  const errors: unknown[] = []
  const access = { everyResponse: false, responded() {} }
  const server: RunningServer = await startServer(table, keys, log, access, configuration, {
    onError: (error) => errors.push(error),
  })
  let customers = 0

  return {
    url: server.url,
    useCases: keys,
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
      const customer = await keys.customers.add({ email, name, password: { password } }, keys.deadline())
      if (customer === null) throw new Error(`The e-mail ${email} is taken.`)
      return { ...customer, password }
    },

    async as({ id }, { abilities, name = 'tests', expiresAtMs = null }) {
      const made = await keys.tokens.create({ customerId: id, name, abilities, expiresAtMs }, keys.deadline())
      if (made === null) throw new Error('The customer is disabled or gone.')
      return callerWith(made.secret)
    },

    // A setting cannot be set to none.
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

/** As a service composes them, on one store of this process. */
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
