import { coversAll } from '../../domain/abilities.ts'
import { InsufficientScope } from '../../domain/errors.ts'
import type { OwnedToken } from '../../domain/login-token.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields } from '../requester.ts'

/** Throws `InsufficientScope` unless the caller's token covers every required ability. */
export type Authorize = (caller: OwnedToken, required: readonly string[], requester: Requester) => void

export function createAuthorize({ audit }: Pick<Ports, 'audit'>): Authorize {
  return function authorize(caller, required, requester) {
    if (coversAll(caller.token.abilities, required)) return
    audit.record('token.denied', {
      ...requesterFields(requester),
      customerId: caller.customer.id,
      tokenId: caller.token.id,
      reason: 'insufficient_scope',
    })
    throw new InsufficientScope(required)
  }
}
