import type { Clock } from '../../lib/clock.ts'
import type { AuditLog } from './audit-log.ts'
import type { Customers } from './customers.ts'
import type { Ids } from './ids.ts'
import type { Invalidations } from './invalidations.ts'
import type { LoginThrottle } from './login-throttle.ts'
import type { LoginTokens } from './login-tokens.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { PasswordBlocklist } from './password-blocklist.ts'
import type { PasswordHasher } from './password-hasher.ts'
import type { ServiceSecrets, TokenSecrets } from './secrets.ts'
import type { TokenUsage } from './token-usage.ts'

/**
 * Every port that the use cases need. By default, the stores come from a `Database`; `AdapterOverrides` says what replaces
 * each port. A store method rejects with `Unavailable` when the store does not
 * respond within `timeoutMs` milliseconds or cannot be reached; the outcome of a change is then unknown. Times are
 * milliseconds since the Unix epoch, and a store returns them unchanged. Absence is null.
 */
export interface Ports {
  readonly customers: Customers
  readonly loginTokens: LoginTokens
  readonly oneTimeTokens: OneTimeTokens
  readonly invalidations: Invalidations
  readonly passwords: PasswordHasher
  readonly blocklist: PasswordBlocklist
  readonly throttle: LoginThrottle
  readonly secrets: TokenSecrets
  readonly serviceSecrets: ServiceSecrets
  readonly clock: Clock
  readonly ids: Ids
  readonly usage: TokenUsage
  readonly audit: AuditLog
}
