import { bcryptPasswordHasher } from '../adapters/bcrypt/password-hasher.ts'
import { hashingThreads } from '../adapters/config/hashing-threads.ts'
import { memoryInvalidations, timedInvalidations } from '../adapters/memory/invalidations.ts'
import { memoryLoginThrottle } from '../adapters/memory/login-throttle.ts'
import { nodeCache } from '../adapters/node-cache/cache.ts'
import { randomIds } from '../adapters/node-crypto/ids.ts'
import { serviceSecrets } from '../adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from '../adapters/node-crypto/token-secrets.ts'
import { cachedReading } from '../adapters/prometheus/cached-reading.ts'
import { instrumentedLoginTokens, instrumentedSecrets } from '../adapters/prometheus/instrumented.ts'
import type { ServiceMetrics } from '../adapters/prometheus/service-metrics.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import { zxcvbnPasswordBlocklist } from '../adapters/zxcvbn/password-blocklist.ts'
import type { Configuration } from '../application/configuration.ts'
import { type CachedToken, cachedLoginTokens } from '../application/login-tokens/cached.ts'
import { invalidatingLoginTokens } from '../application/login-tokens/invalidating.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { OpenDatabase, Role } from '../application/ports/database.ts'
import type { Invalidations } from '../application/ports/invalidations.ts'
import type { Log } from '../application/ports/log.ts'
import type { LoginTokens } from '../application/ports/login-tokens.ts'
import type { PasswordHasher } from '../application/ports/password-hasher.ts'
import type { Ports } from '../application/ports/ports.ts'
import { STORE_TIMEOUT_MS } from '../application/use-cases/use-cases.ts'

/** How long a cached token may miss another process's change when there are no notifications, in milliseconds. */
const MAX_LIFETIME_WITHOUT_NOTIFICATIONS_MS = 1000
const DAMAGED =
  'A stored password is not a bcrypt hash. Its customer cannot log in until the password is set again.'

/** Adapters that replace the defaults, beside the database. Commands use them, too. */
export type AdapterOverrides = Partial<
  Pick<Ports, 'passwords' | 'blocklist' | 'secrets' | 'serviceSecrets' | 'clock' | 'ids' | 'audit'>
>

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

function createInvalidations(
  { invalidations }: OpenDatabase,
  { role, adapters: { clock = systemClock } }: PortsOptions,
  lifetimeMs: number,
): Invalidations {
  if (invalidations !== undefined) return invalidations
  if (role === 'service') return memoryInvalidations()
  // A token that was read before a change is stored within the store timeout, then cached for the lifetime.
  return timedInvalidations(clock, lifetimeMs === 0 ? 0 : STORE_TIMEOUT_MS + lifetimeMs)
}

/** Returns the lifetime of a cached token: limited when other processes cannot receive its revocation. */
function cacheLifetimeMs({ invalidations }: OpenDatabase, { tokenCacheTtlMs }: Configuration): number {
  return invalidations === undefined
    ? Math.min(MAX_LIFETIME_WITHOUT_NOTIFICATIONS_MS, tokenCacheTtlMs)
    : tokenCacheTtlMs
}

/** Creates the ports on a database, with a cache in front of token lookups. */
export function createPorts(database: OpenDatabase, options: PortsOptions): Ports {
  const { configuration, adapters, audit, log, metrics } = options
  const { clock = systemClock } = adapters
  const lifetimeMs = cacheLifetimeMs(database, configuration)
  const invalidations = createInvalidations(database, options, lifetimeMs)
  const ports: Ports = {
    customers: database.customers,
    loginTokens: withCache(database.loginTokens),
    invalidations,
    passwords: adapters.passwords ?? createBcryptHasher(),
    blocklist: configuration.refusesCommonPasswords ? zxcvbnPasswordBlocklist() : { has: () => false },
    throttle: database.throttle ?? memoryLoginThrottle(configuration, clock),
    secrets: tokenSecrets({ prefix: configuration.tokenPrefix }),
    serviceSecrets: serviceSecrets(configuration.serviceTokens),
    clock,
    ids: randomIds,
    usage: { used() {} },
    audit,
    ...withoutUndefined(adapters),
  }
  if (metrics === undefined) return ports
  const { connections, countActiveTokens } = database
  metrics.watch({
    leaseHeld: invalidations.isCurrent,
    ...(connections && { connections }),
    ...(countActiveTokens && { activeTokens: cachedReading(countActiveTokens, clock.monotonicMs) }),
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

  function withCache(loginTokens: LoginTokens): LoginTokens {
    // Other instances may cache tokens even when this one does not.
    if (lifetimeMs === 0) return invalidatingLoginTokens(loginTokens, invalidations)
    const cache = nodeCache<CachedToken>({
      maxEntries: configuration.tokenCacheMax,
      onEvicted: metrics?.evicted,
    })
    metrics?.watch({ cacheEntries: cache.size })
    return cachedLoginTokens(loginTokens, cache, invalidations, clock, {
      ttlMs: lifetimeMs,
      onDiscarded: metrics?.discardedFill,
    })
  }
}

/** Removes the undefined adapters, which would otherwise override the defaults. */
function withoutUndefined(adapters: AdapterOverrides): AdapterOverrides {
  return Object.fromEntries(Object.entries(adapters).filter(([, adapter]) => adapter !== undefined))
}
