import { InvalidToken } from '../../domain/errors.ts'
import type { Deadline } from '../deadline.ts'
import type { Ports } from '../ports/ports.ts'
import { chargedToService, type Requester, requesterFields } from '../requester.ts'
import type { Authenticate, Caller } from './authenticate.ts'

/**
 * Revokes the token that is presented, of any name. `service` is the service token of the caller; null when the holder of
 * the token calls. When it resolves, no instance accepts the token, whether or not it existed (RFC 7009). An unknown token
 * is charged to the caller: throws `TooManyUnknownTokens` after too many.
 */
export type RevokePresented = (
  presented: string,
  deadline: Deadline,
  requestedBy: { readonly requester: Requester; readonly service: string | null },
) => Promise<void>

/** `authenticateForLogout` settles when it refuses a token. */
export function createRevokePresented(
  { loginTokens, clock, audit }: Pick<Ports, 'loginTokens' | 'clock' | 'audit'>,
  authenticateForLogout: Authenticate,
): RevokePresented {
  return async function revokePresented(presented, deadline, { requester, service }) {
    const payer = service === null ? requester : chargedToService(requester, service)
    let caller: Caller
    try {
      caller = await authenticateForLogout(presented, deadline, payer)
    } catch (error) {
      if (error instanceof InvalidToken) return
      throw error
    }
    const { token, customer, digest } = caller
    const revoked = await deadline.run((timeoutMs) =>
      loginTokens.revoke({ id: token.id, digest }, clock.nowMs(), timeoutMs),
    )
    if (!revoked) return
    audit.record('token.revoked', {
      ...requesterFields(requester),
      ...(service === null ? {} : { service }),
      customerId: customer.id,
      tokenId: token.id,
      reason: 'presented',
    })
  }
}
