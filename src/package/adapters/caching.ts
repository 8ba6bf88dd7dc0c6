export { type CachedToken, cachedLoginTokens } from '../../application/login-tokens/cached.ts'
