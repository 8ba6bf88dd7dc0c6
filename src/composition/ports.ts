import { bcryptPasswordHasher } from '../adapters/bcrypt/password-hasher.ts'
import { hashingThreads } from '../adapters/config/hashing-threads.ts'
import { memoryInvalidations, timedInvalidations } from '../adapters/memory/invalidations.ts'
import { memoryLoginThrottle } from '../adapters/memory/login-throttle.ts'
import { nodeCache } from '../adapters/node-cache/cache.ts'
import { randomIds } from '../adapters/node-crypto/ids.ts'
import { serviceSecrets as configuredServiceSecrets } from '../adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../adapters/node-crypto/token-secrets.ts'
import { cachedReading } from '../adapters/prometheus/cached-reading.ts'
import { instrumentedLoginTokens, instrumentedSecrets } from '../adapters/prometheus/instrumented.ts'
import type { ServiceMetrics } from '../adapters/prometheus/service-metrics.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import { zxcvbnPasswordBlocklist } from '../adapters/zxcvbn/password-blocklist.ts'
import { boundCalls } from '../application/bounded-calls.ts'
import type { Configuration } from '../application/configuration.ts'
import { cachedLoginTokens } from '../application/login-tokens/cached.ts'
import type { CachedToken } from '../application/login-tokens/cached-token.ts'
import { createIdleCheck } from '../application/login-tokens/idle-expiry.ts'
import { invalidatingCustomers, invalidatingLoginTokens } from '../application/login-tokens/invalidating.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Cache } from '../application/ports/cache.ts'
import type { OpenDatabase, Role } from '../application/ports/database.ts'
import type { Invalidations } from '../application/ports/invalidations.ts'
import type { Log } from '../application/ports/log.ts'
import type { LoginTokens } from '../application/ports/login-tokens.ts'
import type { PasswordHasher } from '../application/ports/password-hasher.ts'
import type { Ports } from '../application/ports/ports.ts'
import { STORE_TIMEOUT_MS } from '../application/use-cases/use-cases.ts'
import type { Clock } from '../lib/clock.ts'
import type { AdapterOverrides } from './adapters.ts'

/** How long a cached token may miss another process's change when there are no notifications, in milliseconds. */
const MAX_LIFETIME_WITHOUT_NOTIFICATIONS_MS = 1000
const DAMAGED =
  'A stored password is not a bcrypt hash. Its customer cannot log in until the password is set again.'

/** The dependencies of the ports, beside the database. */
export interface PortsOptions {
  readonly configuration: Configuration
  readonly role: Role
  readonly adapters: AdapterOverrides
  readonly audit: AuditLog
  readonly log: Log
  /** Metrics of the calls to the ports. Default: none. */
  readonly metrics?: ServiceMetrics
}

/** Creates the ports on a database, with the adapters that replace defaults, and a cache in front of token lookups. */
export function createPorts(database: OpenDatabase, options: PortsOptions): Ports {
  const { configuration, adapters, audit, log, metrics } = options
  const {
    clock = systemClock,
    customers = database.customers,
    loginTokens = database.loginTokens,
    oneTimeTokens = database.oneTimeTokens,
    invalidations: shared = database.invalidations,
    throttle = database.throttle ?? memoryLoginThrottle(configuration, clock),
    passwords = createBcryptHasher(),
    blocklist = configuration.refusesCommonPasswords ? zxcvbnPasswordBlocklist() : { has: () => false },
    secrets = tokenSecrets({ prefix: configuration.tokenPrefix, foreign: configuration.foreignTokens }),
    serviceSecrets = configuredServiceSecrets(configuration.serviceTokens),
    ids = randomIds,
    usage = { used() {} },
  } = adapters
  const lifetimeMs = cacheLifetimeMs(shared, configuration)
  const invalidations = shared ?? unsharedInvalidations(options.role, clock, lifetimeMs)
  const ports: Ports = {
    customers: invalidatingCustomers(boundCalls(customers, clock), invalidations),
    // Also without a cache: other instances may have one.
    loginTokens: withCache(invalidatingLoginTokens(boundCalls(loginTokens, clock), invalidations)),
    oneTimeTokens: boundCalls(oneTimeTokens, clock),
    invalidations,
    passwords,
    blocklist,
    throttle: boundCalls(throttle, clock),
    secrets,
    serviceSecrets,
    clock,
    ids,
    usage,
    audit,
  }
  if (metrics === undefined) return ports
  metrics.watch({
    leaseHeld: () => invalidations.isCurrent(),
    ...(database.connections && { connections: database.connections.bind(database) }),
    ...(database.countActiveTokens &&
      loginTokens === database.loginTokens && {
        activeTokens: cachedReading(database.countActiveTokens.bind(database), () => clock.monotonicMs()),
      }),
  })
  return {
    ...ports,
    loginTokens: instrumentedLoginTokens(ports.loginTokens, metrics.validations),
    secrets: instrumentedSecrets(ports.secrets, metrics.validations),
  }

  function createBcryptHasher(): PasswordHasher {
    const hasher = bcryptPasswordHasher({
      cost: configuration.bcryptCost,
      concurrency: hashingThreads(configuration),
      onDamaged: () => log.warn('password.damaged', { detail: DAMAGED }),
    })
    metrics?.watch({ hashing: hasher.load })
    return hasher
  }

  function withCache(inner: LoginTokens): LoginTokens {
    if (lifetimeMs === 0) return inner
    const { cache = createNodeCache() } = adapters
    const { tokenIdleTtlMs: idleTtlMs } = configuration
    return cachedLoginTokens(inner, cache, invalidations, clock, {
      ttlMs: lifetimeMs,
      isIdle: idleTtlMs === null ? undefined : createIdleCheck(idleTtlMs, usage),
      onDiscarded: metrics?.discardedFill,
    })
  }

  function createNodeCache(): Cache<CachedToken> {
    const cache = nodeCache<CachedToken>({
      maxEntries: configuration.tokenCacheMax,
      onEvicted: metrics?.evicted,
    })
    metrics?.watch({ cacheEntries: cache.size })
    return cache
  }
}

/** Returns the lifetime of a cached token: limited when other processes cannot receive its revocation. */
function cacheLifetimeMs(shared: Invalidations | undefined, { tokenCacheTtlMs }: Configuration): number {
  return shared === undefined
    ? Math.min(MAX_LIFETIME_WITHOUT_NOTIFICATIONS_MS, tokenCacheTtlMs)
    : tokenCacheTtlMs
}

/** Returns invalidations that reach no other process. */
function unsharedInvalidations(role: Role, clock: Clock, lifetimeMs: number): Invalidations {
  if (role === 'service') return memoryInvalidations()
  // A token that was read before a change is stored within the store timeout, then cached for the lifetime.
  return timedInvalidations(clock, lifetimeMs === 0 ? 0 : STORE_TIMEOUT_MS + lifetimeMs)
}
