import type { AuditLog } from '../../application/ports/audit-log.ts'
import type { LoginTokens } from '../../application/ports/login-tokens.ts'
import type { TokenSecrets } from '../../application/ports/secrets.ts'
import type { UseCases } from '../../application/use-cases/use-cases.ts'
import {
  InvalidCredentials,
  TooManyLogins,
  TooManySessions,
  TooManyUnknownTokens,
  Unavailable,
} from '../../domain/errors.ts'
import { isPromise } from '../../lib/maybe-promise.ts'
import { methods } from '../../lib/methods.ts'
import type { LoginResult } from './definitions.ts'
import type { ServiceMetrics, Validations } from './service-metrics.ts'

/** Counts the lookups of login tokens: a synchronous result comes from the cache. */
export function instrumentedLoginTokens(inner: LoginTokens, validations: Validations): LoginTokens {
  return {
    ...methods(inner),
    findByDigest(digest, timeoutMs) {
      const found = inner.findByDigest(digest, timeoutMs)
      if (isPromise(found)) validations.database++
      else validations.cache++
      return found
    },
  }
}

/** Counts the secrets that are rejected by form or checksum. */
export function instrumentedSecrets(inner: TokenSecrets, validations: Validations): TokenSecrets {
  return {
    ...methods(inner),
    digestOf(presented) {
      const digest = inner.digestOf(presented)
      if (digest === null) validations.checksum++
      return digest
    },
  }
}

/**
 * Counts logins and password changes by result, and tokens that are refused without a lookup. A login whose client disconnected, or that failed
 * unexpectedly, has no result.
 */
export function instrumentedUseCases(
  inner: UseCases,
  {
    login: count,
    passwordChange,
    validations,
  }: Pick<ServiceMetrics, 'login' | 'passwordChange' | 'validations'>,
): UseCases {
  return {
    ...inner,
    authenticate(presented, deadline, requester) {
      try {
        return inner.authenticate(presented, deadline, requester)
      } catch (error) {
        countRefusal(error)
        throw error
      }
    },
    async authenticateForLogout(presented, deadline, requester) {
      try {
        return await inner.authenticateForLogout(presented, deadline, requester)
      } catch (error) {
        countRefusal(error)
        throw error
      }
    },
    introspect(presented, deadline, requestedBy) {
      try {
        return inner.introspect(presented, deadline, requestedBy)
      } catch (error) {
        countRefusal(error)
        throw error
      }
    },
    async revokePresented(presented, deadline, requestedBy) {
      try {
        await inner.revokePresented(presented, deadline, requestedBy)
      } catch (error) {
        countRefusal(error)
        throw error
      }
    },
    async login(credentials, deadline, requester) {
      try {
        const loggedIn = await inner.login(credentials, deadline, requester)
        count('succeeded')
        return loggedIn
      } catch (error) {
        const result = toLoginResult(error)
        if (result !== null) count(result)
        throw error
      }
    },
    passwords: {
      ...inner.passwords,
      async change(...args) {
        try {
          const revoked = await inner.passwords.change(...args)
          passwordChange('succeeded')
          return revoked
        } catch (error) {
          const result = toLoginResult(error)
          if (result !== null && result !== 'too_many_sessions') passwordChange(result)
          throw error
        }
      },
    },
  }

  function countRefusal(error: unknown): void {
    if (error instanceof TooManyUnknownTokens) validations.refused++
  }
}

function toLoginResult(error: unknown): LoginResult | null {
  if (error instanceof InvalidCredentials) return 'failed'
  if (error instanceof TooManyLogins) return 'throttled'
  if (error instanceof TooManySessions) return 'too_many_sessions'
  return error instanceof Unavailable ? 'unavailable' : null
}

/** Calls `onFailed` for each event that cannot be written. */
export function instrumentedAuditLog(inner: AuditLog, onFailed: () => void): AuditLog {
  return {
    record(event, fields) {
      try {
        inner.record(event, fields)
      } catch (error) {
        onFailed()
        throw error
      }
    },
  }
}
