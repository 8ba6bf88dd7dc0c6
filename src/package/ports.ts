/** What an adapter of one's own is written against: the ports, and the part of the domain that they speak of. */
export type { AccessLog, Answered } from '../application/ports/access-log.ts'
export type { AuditFields, AuditLog } from '../application/ports/audit-log.ts'
export type { Cache } from '../application/ports/cache.ts'
export type { Clock, Ids } from '../application/ports/clock.ts'
export type { CustomerCredentials, Customers } from '../application/ports/customers.ts'
export type { Invalidation, Invalidations } from '../application/ports/invalidations.ts'
export type { Log, LogFields } from '../application/ports/log.ts'
export type {
  LoginAdmission,
  LoginAttempt,
  LoginOutcome,
  LoginPlace,
  LoginThrottle,
} from '../application/ports/login-throttle.ts'
export type {
  LoginTokens,
  NewLogin,
  PageEnd,
  Steps,
  TokenChoice,
  TokenPage,
  TokenUse,
} from '../application/ports/login-tokens.ts'
export type { PasswordBlocklist } from '../application/ports/password-blocklist.ts'
export type { HashingPlace, PasswordHasher } from '../application/ports/password-hasher.ts'
export type { Ports } from '../application/ports/ports.ts'
export type { IssuedSecret, ServiceSecrets, TokenSecrets } from '../application/ports/secrets.ts'
export type { TokenUsage } from '../application/ports/token-usage.ts'
export type { Prunable } from '../application/pruning.ts'
export type { Cancellation, Requester } from '../application/requester.ts'
export type { Soon } from '../application/soon.ts'
export { type Customer, foldedEmail } from '../domain/customer.ts'
export { Unavailable } from '../domain/errors.ts'
export {
  type ExceededLimit,
  guessesAllowed,
  guessPauseMs,
  type LoginLimit,
  type LoginLimits,
} from '../domain/login-limit.ts'
export {
  authenticates,
  type Digest,
  LOGIN_TOKEN_NAME,
  type LoginToken,
  type OwnedToken,
  type TokenState,
  tokenState,
} from '../domain/login-token.ts'
export type { ServiceToken } from '../domain/service-token.ts'
