/**
 * Test tools for implementers: a contract test suite for each port, which includes races, for `node:test`, vitest and jest,
 * and an in-memory service that is called over HTTP.
 */
export { aCustomer, aDigest, aLoginToken, aPasswordHash } from '../testing/builders.ts'
export type { Called, CallOptions } from '../testing/call.ts'
export { auditLogContract, type ReadableAuditLog } from '../testing/contracts/audit-log.ts'
export { cacheContract, type TimedCache } from '../testing/contracts/cache.ts'
export { clockContract, type PassingClock } from '../testing/contracts/clock.ts'
export { customersContract } from '../testing/contracts/customers.ts'
export { databaseContract, type TriedDatabase } from '../testing/contracts/database.ts'
export { idsContract } from '../testing/contracts/ids.ts'
export { invalidationsContract } from '../testing/contracts/invalidations.ts'
export {
  type CreateThrottle,
  loginThrottleContract,
  type TriedThrottle,
} from '../testing/contracts/login-throttle.ts'
export { loginTokensContract } from '../testing/contracts/login-tokens.ts'
export { oneTimeTokensContract } from '../testing/contracts/one-time-tokens.ts'
export { passwordBlocklistContract } from '../testing/contracts/password-blocklist.ts'
export { passwordHasherContract } from '../testing/contracts/password-hasher.ts'
export { serviceSecretsContract } from '../testing/contracts/service-secrets.ts'
export { tokenSecretsContract } from '../testing/contracts/token-secrets.ts'
export { type SettlingUsage, tokenUsageContract } from '../testing/contracts/token-usage.ts'
export type { DatabaseEnv } from '../testing/database/context.ts'
export { runDatabaseProcess } from '../testing/database/process.ts'
export { type DatabaseProcesses, startDatabaseProcesses } from '../testing/database/processes.ts'
export type { Release } from '../testing/holds.ts'
export { type MovableClock, movableClock } from '../testing/movable-clock.ts'
export type { Logged, Recorded } from '../testing/recorded.ts'
export type { TestContext, TestRunner } from '../testing/runner.ts'
export type { CreateStores, OneTimeStores, Stores } from '../testing/stores.ts'
export { createTestApp, type TestApp, type TestAppOptions } from '../testing/test-app.ts'
export type { TestCaller, TestClients, TestCustomer } from '../testing/test-clients.ts'
