import { InvalidServiceToken } from '../../domain/errors.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields } from '../requester.ts'

/** Answers the name of the service token that was presented, or throws `InvalidServiceToken`. */
export type VerifyServiceToken = (presented: string | null, requester: Requester) => string

/** A service route's whole check: it never passes through `authenticate`, nor the reverse. */
export function createVerifyServiceToken({ serviceSecrets, audit }: Ports): VerifyServiceToken {
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
