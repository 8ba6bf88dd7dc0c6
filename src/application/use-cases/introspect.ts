import { InvalidToken } from '../../domain/errors.ts'
import type { OwnedToken } from '../../domain/login-token.ts'
import { isPromise, type MaybePromise } from '../../lib/maybe-promise.ts'
import type { Deadline } from '../deadline.ts'
import { chargedToService, type ServiceRequester } from '../requester.ts'
import type { Authenticate } from './authenticate.ts'

/**
 * Returns the token that a program presents for a client of its own, with its owner, or null when it is not active (RFC
 * 7662). An unknown token is charged to the service token: throws `TooManyUnknownTokens` after too many.
 */
export type Introspect = (
  presented: string,
  deadline: Deadline,
  requestedBy: ServiceRequester,
) => MaybePromise<OwnedToken | null>

export function createIntrospect(authenticate: Authenticate): Introspect {
  return function introspect(presented, deadline, { requester, service }) {
    try {
      const found = authenticate(presented, deadline, chargedToService(requester, service))
      return isPromise(found) ? found.catch(inactive) : found
    } catch (error) {
      return inactive(error)
    }
  }
}

function inactive(error: unknown): null {
  if (error instanceof InvalidToken) return null
  throw error
}
