import { methods } from '../../lib/methods.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'
import type { UnknownTokenLimit } from './unknown-token-limit.ts'

/** Login tokens that register each new token with the limit of unknown tokens. */
export function rememberingIssued(inner: LoginTokens, limit: UnknownTokenLimit): LoginTokens {
  return {
    ...methods(inner),
    async replace(login, timeoutMs) {
      const revoked = await inner.replace(login, timeoutMs)
      if (typeof revoked === 'number') limit.remember(login.digest)
      return revoked
    },
    async add(token, digest, timeoutMs) {
      const isAdded = await inner.add(token, digest, timeoutMs)
      if (isAdded) limit.remember(digest)
      return isAdded
    },
  }
}
