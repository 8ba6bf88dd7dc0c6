import type { CachedToken } from '../application/login-tokens/cached-token.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Cache } from '../application/ports/cache.ts'
import type { Customers } from '../application/ports/customers.ts'
import type { Ids } from '../application/ports/ids.ts'
import type { Invalidations } from '../application/ports/invalidations.ts'
import type { LoginThrottle } from '../application/ports/login-throttle.ts'
import type { LoginTokens } from '../application/ports/login-tokens.ts'
import type { OneTimeTokens } from '../application/ports/one-time-tokens.ts'
import type { PasswordBlocklist } from '../application/ports/password-blocklist.ts'
import type { PasswordHasher } from '../application/ports/password-hasher.ts'
import type { Ports } from '../application/ports/ports.ts'
import type { ServiceSecrets, TokenSecrets } from '../application/ports/secrets.ts'
import type { TokenUsage } from '../application/ports/token-usage.ts'
import type { Clock } from '../lib/clock.ts'

/**
 * Custom adapters for the service, its workers and its commands: any port of `Ports`, and the cache. Each replaces one
 * default. An adapter that is left out or undefined keeps its default.
 *
 * Every process uses its own instance, which the program creates. `latchkey/testing` has a contract suite for each.
 */
export interface AdapterOverrides extends Partial<Ports> {
  /** Replaces the customers of the `Database`. The service still publishes their revocations. */
  readonly customers?: Customers
  /**
   * Replaces the tokens of the `Database`. The service still puts its cache in front of them and publishes their
   * revocations. The metric `latchkey_active_tokens` has no value.
   */
  readonly loginTokens?: LoginTokens
  /** Replaces the one-time tokens of the `Database`. */
  readonly oneTimeTokens?: OneTimeTokens
  /**
   * Replaces the invalidations of the `Database`. They must reach every process that caches tokens: the service then
   * caches tokens for `TOKEN_CACHE_TTL`, and accepts `WORKERS`.
   */
  readonly invalidations?: Invalidations
  /**
   * Replaces the cache of validated tokens in the memory of the process, which node-cache implements. `TOKEN_CACHE_MAX`
   * has no effect, and the metrics of entries and evictions have no value. Not used when `TOKEN_CACHE_TTL` is 0.
   */
  readonly cache?: Cache<CachedToken>
  /** Replaces the throttle of the `Database`, or the one in memory. It applies the limits itself. */
  readonly throttle?: LoginThrottle
  /** Replaces bcrypt. `BCRYPT_COST` has no effect, and the metrics of hashing have no value. */
  readonly passwords?: PasswordHasher
  /** Replaces the list of common passwords. `COMMON_PASSWORDS` has no effect. */
  readonly blocklist?: PasswordBlocklist
  /** Replaces the secrets of tokens. `TOKEN_PREFIX` has no effect. */
  readonly secrets?: TokenSecrets
  /** Replaces the service tokens of `SERVICE_TOKENS`. A reload of the settings does not change them. */
  readonly serviceSecrets?: ServiceSecrets
  /** Replaces the clocks of the machine, also for the `Database`. */
  readonly clock?: Clock
  /** Replaces random UUIDs. */
  readonly ids?: Ids
  /** Replaces the buffer that writes the last uses of tokens. `TOKEN_LAST_USED` has no effect. */
  readonly usage?: TokenUsage
  /** Replaces the file of `AUDIT_LOG`, or standard output. The program closes it. */
  readonly audit?: AuditLog
}
