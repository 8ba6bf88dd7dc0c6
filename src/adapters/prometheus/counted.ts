import type { Latchkey } from '../../application/latchkey.ts'
import type { LoginTokens } from '../../application/ports/login-tokens.ts'
import type { TokenSecrets } from '../../application/ports/secrets.ts'
import { isLater } from '../../application/soon.ts'
import {
  InvalidCredentials,
  TooManyRequests,
  TooManyUnknownTokens,
  Unavailable,
} from '../../domain/errors.ts'
import type { LoginResult } from './definitions.ts'
import type { ServiceMetrics, Validations } from './service-metrics.ts'

/** Login tokens whose look-ups are counted: what is answered at once comes from a cache. */
export function countedLoginTokens(inner: LoginTokens, validations: Validations): LoginTokens {
  return {
    ...inner,
    findByDigest(digest, waitMs) {
      const found = inner.findByDigest(digest, waitMs)
      if (isLater(found)) validations.database++
      else validations.cache++
      return found
    },
  }
}

/** Secrets whose refusals by form or checksum are counted. */
export function countedSecrets(inner: TokenSecrets, validations: Validations): TokenSecrets {
  return {
    ...inner,
    digestOf(presented) {
      const digest = inner.digestOf(presented)
      if (digest === null) validations.checksum++
      return digest
    },
  }
}

/**
 * The use cases, with logins counted by result, and tokens that are refused without a lookup. A login whose client left, or
 * that met a bug, has no result.
 */
export function countedUseCases(
  inner: Latchkey,
  { login: count, validations }: Pick<ServiceMetrics, 'login' | 'validations'>,
): Latchkey {
  return {
    ...inner,
    authenticate(presented, patience, requester) {
      try {
        return inner.authenticate(presented, patience, requester)
      } catch (error) {
        if (error instanceof TooManyUnknownTokens) validations.refused++
        throw error
      }
    },
    async login(credentials, patience, requester) {
      try {
        const loggedIn = await inner.login(credentials, patience, requester)
        count('succeeded')
        return loggedIn
      } catch (error) {
        const result = resultOf(error)
        if (result !== null) count(result)
        throw error
      }
    },
  }
}

function resultOf(error: unknown): LoginResult | null {
  if (error instanceof InvalidCredentials) return 'failed'
  if (error instanceof TooManyRequests) return 'throttled'
  return error instanceof Unavailable ? 'unavailable' : null
}
