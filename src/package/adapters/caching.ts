export { cachedLoginTokens } from '../../application/login-tokens/cached.ts'
export type { CachedToken } from '../../application/login-tokens/cached-token.ts'
export {
  invalidatingCustomers,
  invalidatingLoginTokens,
} from '../../application/login-tokens/invalidating.ts'
