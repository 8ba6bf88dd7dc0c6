import { InvalidToken, MalformedToken } from '../../domain/errors.ts'
import { type Digest, tokenState } from '../../domain/login-token.ts'
import type { Deadline } from '../deadline.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields } from '../requester.ts'
import type { Authenticate, Caller } from './authenticate.ts'
import { requireLoginToken } from './sessions.ts'

/**
 * Revokes the caller's login token. When it resolves, every instance refuses the token. Throws `LoginTokenRequired` for a
 * named token, and `InvalidToken` when the token was revoked meanwhile or has expired.
 */
export type Logout = (caller: Caller, deadline: Deadline, requester: Requester) => Promise<void>

export function createLogout({
  loginTokens,
  clock,
  audit,
}: Pick<Ports, 'loginTokens' | 'clock' | 'audit'>): Logout {
  return async function logout(caller, deadline, requester) {
    requireLoginToken(caller)
    const { token, customer, digest } = caller
    const revoked = await deadline.run((timeoutMs) =>
      loginTokens.revoke({ id: token.id, digest }, clock.nowMs(), timeoutMs),
    )
    const fields = { ...requesterFields(requester), customerId: customer.id, tokenId: token.id }
    if (!revoked) {
      const reason = tokenState(token, clock.nowMs()) === 'expired' ? 'expired' : 'revoked'
      audit.record('token.denied', { ...fields, reason })
      throw new InvalidToken()
    }
    audit.record('token.revoked', { ...fields, reason: 'logout' })
  }
}

/**
 * Authenticates before a logout: rejects with `InvalidToken` only when no instance accepts the token any more, and none will,
 * because the client takes that response for a logout.
 */
export function createAuthenticateForLogout(
  {
    secrets,
    invalidations,
    loginTokens,
    clock,
    audit,
  }: Pick<Ports, 'secrets' | 'invalidations' | 'loginTokens' | 'clock' | 'audit'>,
  authenticate: Authenticate,
): Authenticate {
  return async function authenticateForLogout(presented, deadline, requester) {
    try {
      return await authenticate(presented, deadline, requester)
    } catch (error) {
      const isWellFormed = error instanceof InvalidToken && !(error instanceof MalformedToken)
      const digest = isWellFormed ? secrets.digestOf(presented) : null
      if (digest !== null) {
        await revokeRefused(digest, deadline, requester)
        await invalidations.publish({ kind: 'digest', digest })
      }
      throw error
    }
  }

  /** The token of a disabled customer may be unrevoked, and would be valid again once the customer is enabled. */
  async function revokeRefused(digest: Digest, deadline: Deadline, requester: Requester): Promise<void> {
    const owned = await deadline.run((timeoutMs) => loginTokens.findByDigest(digest, timeoutMs))
    if (owned === null || owned.token.revokedAtMs !== null) return
    const { id, customerId } = owned.token
    const revoked = await deadline.run((timeoutMs) =>
      loginTokens.revoke({ id, digest }, clock.nowMs(), timeoutMs),
    )
    if (revoked)
      audit.record('token.revoked', {
        ...requesterFields(requester),
        customerId,
        tokenId: id,
        reason: 'logout',
      })
  }
}
