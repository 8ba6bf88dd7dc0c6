import { InsufficientServiceScope, InvalidServiceToken } from '../../domain/errors.ts'
import { missingScopes, type ServiceCaller } from '../../domain/service-token.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields } from '../requester.ts'

/** A secret with the name of its token, as HTTP Basic presents it. Both must match. */
export interface NamedSecret {
  readonly name: string
  readonly secret: string
}

/**
 * Returns the name of the service token that was presented. Throws `InvalidServiceToken` for null or an unknown text, and
 * `InsufficientServiceScope` when the token lacks one of the required scopes.
 */
export type VerifyServiceToken = (
  presented: string | NamedSecret | null,
  required: readonly string[],
  requester: Requester,
) => string

/** The only check of a service route. It accepts no customer's token, and `authenticate` accepts no service token. */
export function createVerifyServiceToken({
  serviceSecrets,
  audit,
}: Pick<Ports, 'serviceSecrets' | 'audit'>): VerifyServiceToken {
  return function verifyServiceToken(presented, required, requester) {
    const caller = presented === null ? null : identify(presented)
    if (caller === null) {
      audit.record('service.denied', {
        ...requesterFields(requester),
        reason: presented === null ? 'missing' : 'unknown',
      })
      throw new InvalidServiceToken()
    }
    const missing = missingScopes(caller.scopes, required)
    if (missing.length === 0) return caller.name
    audit.record('service.denied', {
      ...requesterFields(requester),
      service: caller.name,
      reason: 'insufficient_scope',
    })
    throw new InsufficientServiceScope(required, missing)
  }

  function identify(presented: string | NamedSecret): ServiceCaller | null {
    if (typeof presented === 'string') return serviceSecrets.identify(presented)
    const caller = serviceSecrets.identify(presented.secret)
    return caller?.name === presented.name ? caller : null
  }
}
