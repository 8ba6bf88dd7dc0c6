/** Ten failures of an account from one address in 15 minutes. */
export const LIMITS = { loginLimitAccount: { failures: 10, windowMs: 900_000 }, loginLimitAddress: null }
export const ATTEMPT = { account: 'ana@example.com', address: '192.0.2.1' }
/** It is long because tests run in parallel. */
export const TIMEOUT_MS = 30_000
