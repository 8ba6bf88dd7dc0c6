import type { Clock } from '../../lib/clock.ts'
import type { AuditLog } from './audit-log.ts'
import type { Customers } from './customers.ts'
import type { Ids } from './ids.ts'
import type { Invalidations } from './invalidations.ts'
import type { LoginThrottle } from './login-throttle.ts'
import type { LoginTokens } from './login-tokens.ts'
import type { PasswordBlocklist } from './password-blocklist.ts'
import type { PasswordHasher } from './password-hasher.ts'
import type { ServiceSecrets, TokenSecrets } from './secrets.ts'
import type { TokenUsage } from './token-usage.ts'

/**
 * Every port of the house: the whole list of what a team may swap. A call of a store that cannot be answered within
 * `waitMs` milliseconds, or whose store is out of reach, throws `Unavailable`; when that happens to a change, its
 * outcome is unknown. Times are milliseconds since the Unix epoch and come back as they went in.
 */
export interface Ports {
  readonly customers: Customers
  readonly loginTokens: LoginTokens
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
