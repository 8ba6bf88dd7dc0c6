export { type CachedToken, cachedLoginTokens } from '../../application/login-tokens/cached.ts'
export {
  invalidatingCustomers,
  invalidatingLoginTokens,
} from '../../application/login-tokens/invalidating.ts'
