export { type CachedToken, cachedLoginTokens } from '../../adapters/caching/login-tokens.ts'
