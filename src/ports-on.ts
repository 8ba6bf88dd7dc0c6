import { bcryptPasswordHasher } from './adapters/bcrypt/password-hasher.ts'
import { type CachedToken, cachedLoginTokens } from './adapters/caching/login-tokens.ts'
import type { Configuration } from './adapters/config/configuration.ts'
import { hashingThreads } from './adapters/config/hashing-threads.ts'
import { memoryInvalidations, outlivedInvalidations } from './adapters/memory/invalidations.ts'
import { memoryLoginThrottle } from './adapters/memory/login-throttle.ts'
import { nodeCache } from './adapters/node-cache/cache.ts'
import { randomIds } from './adapters/node-crypto/ids.ts'
import { serviceSecrets } from './adapters/node-crypto/service-secrets.ts'
import { tokenSecrets } from './adapters/node-crypto/token-secrets.ts'
import { countedLoginTokens, countedSecrets } from './adapters/prometheus/counted.ts'
import { nowAndThen } from './adapters/prometheus/now-and-then.ts'
import type { ServiceMetrics } from './adapters/prometheus/service-metrics.ts'
import { systemClock } from './adapters/system-clock/clock.ts'
import { zxcvbnPasswordBlocklist } from './adapters/zxcvbn/password-blocklist.ts'
import { announcedLoginTokens } from './application/announced.ts'
import { STORE_WAIT_MS } from './application/latchkey.ts'
import type { AuditLog } from './application/ports/audit-log.ts'
import type { Invalidations } from './application/ports/invalidations.ts'
import type { Log } from './application/ports/log.ts'
import type { LoginTokens } from './application/ports/login-tokens.ts'
import type { PasswordHasher } from './application/ports/password-hasher.ts'
import type { Ports } from './application/ports/ports.ts'
import type { OpenBackend, Role } from './backend.ts'

/** How long another writer's change may go unnoticed, in milliseconds. */
const UNTOLD_MS = 1000
const DAMAGED = 'Somebody cannot log in before the password is set anew: what is stored is no bcrypt hash.'

/** What a service may be given in place of its own, beside its database; commands use it, too. */
export type ChosenAdapters = Partial<
  Pick<Ports, 'passwords' | 'blocklist' | 'secrets' | 'serviceSecrets' | 'clock' | 'ids'>
>

/** What the ports are made of beside the database. */
export interface PortsOptions {
  readonly configuration: Configuration
  readonly role: Role
  readonly adapters: ChosenAdapters
  readonly audit: AuditLog
  readonly log: Log
  /** Of what is done through the ports; nothing is measured where they are not given. */
  readonly metrics?: ServiceMetrics
}

function invalidationsOf(
  { invalidations }: OpenBackend,
  { role, adapters: { clock = systemClock } }: PortsOptions,
  keptMs: number,
): Invalidations {
  if (invalidations !== undefined) return invalidations
  if (role === 'service') return memoryInvalidations()
  // Whatever was read before a change is sent within the longest wait, and then kept for as long.
  return outlivedInvalidations(clock, keptMs === 0 ? 0 : STORE_WAIT_MS + keptMs)
}

/** How long a token is kept: where no other process can be told of its end, for no longer than that may go unnoticed. */
function keptMsOf({ invalidations }: OpenBackend, { tokenCacheTtlMs }: Configuration): number {
  return invalidations === undefined ? Math.min(UNTOLD_MS, tokenCacheTtlMs) : tokenCacheTtlMs
}

/** The ports on a database, with the cache in front of the look-up of tokens. */
export function portsOn(backend: OpenBackend, options: PortsOptions): Ports {
  const { configuration, adapters, audit, log, metrics } = options
  const { clock = systemClock } = adapters
  const keptMs = keptMsOf(backend, configuration)
  const invalidations = invalidationsOf(backend, options, keptMs)
  const ports: Ports = {
    customers: backend.customers,
    loginTokens: cached(backend.loginTokens),
    invalidations,
    passwords: adapters.passwords ?? bcryptHashed(),
    blocklist: configuration.refusesCommonPasswords ? zxcvbnPasswordBlocklist() : { has: () => false },
    throttle: backend.throttle ?? memoryLoginThrottle(configuration, clock),
    secrets: tokenSecrets({ prefix: configuration.tokenPrefix }),
    serviceSecrets: serviceSecrets(configuration.serviceTokens),
    clock,
    ids: randomIds,
    usage: { used() {} },
    audit,
    ...given(adapters),
  }
  if (metrics === undefined) return ports
  const { connections, countActiveTokens } = backend
  metrics.watch({
    leaseHeld: invalidations.isCurrent,
    ...(connections && { connections }),
    ...(countActiveTokens && { activeTokens: nowAndThen(countActiveTokens, clock.monotonicMs) }),
  })
  return {
    ...ports,
    loginTokens: countedLoginTokens(ports.loginTokens, metrics.validations),
    secrets: countedSecrets(ports.secrets, metrics.validations),
  }

  function bcryptHashed(): PasswordHasher {
    const hasher = bcryptPasswordHasher({
      cost: configuration.bcryptCost,
      concurrency: hashingThreads(configuration),
      onDamaged: () => log.warn('password.damaged', { detail: DAMAGED }),
    })
    metrics?.watch({ hashing: hasher.load })
    return hasher
  }

  function cached(loginTokens: LoginTokens): LoginTokens {
    // Other instances may keep what this one does not.
    if (keptMs === 0) return announcedLoginTokens(loginTokens, invalidations)
    const cache = nodeCache<CachedToken>({
      maxEntries: configuration.tokenCacheMax,
      onEvicted: metrics?.evicted,
    })
    metrics?.watch({ cacheEntries: cache.size })
    return cachedLoginTokens(loginTokens, cache, invalidations, clock, {
      ttlMs: keptMs,
      onDiscarded: metrics?.discardedFill,
    })
  }
}

/** Without what is named and not given, which would take the place of the service's own. */
function given(adapters: ChosenAdapters): ChosenAdapters {
  return Object.fromEntries(Object.entries(adapters).filter(([, adapter]) => adapter !== undefined))
}
