/** The API for a custom adapter: the ports, and the domain types that they use. */

export type { Prunable } from '../application/jobs/pruning.ts'
export type { CachedToken } from '../application/login-tokens/cached-token.ts'
export type { AccessLog, RespondedRequest } from '../application/ports/access-log.ts'
export type { AuditFields, AuditLog } from '../application/ports/audit-log.ts'
export type { Cache } from '../application/ports/cache.ts'
export type {
  CustomerCredentials,
  Customers,
  PasswordChange,
  PasswordReset,
} from '../application/ports/customers.ts'
export type { Ids } from '../application/ports/ids.ts'
export type { Invalidation, Invalidations } from '../application/ports/invalidations.ts'
export type { Log, LogFields } from '../application/ports/log.ts'
export type {
  LoginAdmission,
  LoginAttempt,
  LoginOutcome,
  LoginSlot,
  LoginThrottle,
} from '../application/ports/login-throttle.ts'
export type {
  IdleStep,
  LoginTokens,
  NewLogin,
  PageEnd,
  StepOptions,
  TokenChoice,
  TokenPage,
  TokenUse,
} from '../application/ports/login-tokens.ts'
export type {
  OneTimeToken,
  OneTimeTokens,
  PresentedOneTimeToken,
} from '../application/ports/one-time-tokens.ts'
export type { PasswordBlocklist } from '../application/ports/password-blocklist.ts'
export type { HashingRequest, HashingSlot, PasswordHasher } from '../application/ports/password-hasher.ts'
export type { Ports } from '../application/ports/ports.ts'
export type { IssuedSecret, ServiceSecrets, TokenSecrets } from '../application/ports/secrets.ts'
export type { TokenUsage } from '../application/ports/token-usage.ts'
export type { Requester } from '../application/requester.ts'
export { type Customer, foldedEmail } from '../domain/customer.ts'
export { Unavailable } from '../domain/errors.ts'
export {
  type ExceededLimit,
  type GuessLimit,
  guessLimit,
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
export type { ServiceCaller, ServiceToken } from '../domain/service-token.ts'
export { type Admission, type HeldSession, replaceAll } from '../domain/session.ts'
export type { Cancellation } from '../lib/cancellation.ts'
export type { Clock } from '../lib/clock.ts'
export type { MaybePromise } from '../lib/maybe-promise.ts'
