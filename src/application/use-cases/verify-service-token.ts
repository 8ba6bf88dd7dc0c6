import { InvalidServiceToken } from '../../domain/errors.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields } from '../requester.ts'

/** Returns the name of the service token that was presented. Throws `InvalidServiceToken` for null or an unknown text. */
export type VerifyServiceToken = (presented: string | null, requester: Requester) => string

/** The only check of a service route. It accepts no customer's token, and `authenticate` accepts no service token. */
export function createVerifyServiceToken({
  serviceSecrets,
  audit,
}: Pick<Ports, 'serviceSecrets' | 'audit'>): VerifyServiceToken {
  return function verifyServiceToken(presented, requester) {
    const name = presented === null ? null : serviceSecrets.nameOf(presented)
    if (name === null) {
      audit.record('service.denied', {
        ...requesterFields(requester),
        reason: presented === null ? 'missing' : 'unknown',
      })
      throw new InvalidServiceToken()
    }
    return name
  }
}
