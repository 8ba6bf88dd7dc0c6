import type { Invalidation, Invalidations } from './ports/invalidations.ts'
import type { LoginTokens } from './ports/login-tokens.ts'

/**
 * Answers what a change that may end tokens answered, once every instance obeys it. A change whose outcome is unknown
 * is obeyed here and rejects without waiting for the others: nothing of it is acknowledged.
 */
export async function announced<T>(
  invalidations: Invalidations,
  invalidation: Invalidation,
  change: Promise<T>,
  mayHaveEnded: (answer: T) => boolean = () => true,
): Promise<T> {
  const answer = await change.catch((error: unknown) => {
    // Whether the others hear of it decides nothing here, not even by failing.
    invalidations.announce(invalidation).catch(() => {})
    throw error
  })
  if (mayHaveEnded(answer)) await invalidations.announce(invalidation)
  return answer
}

/** Login tokens whose changes are acknowledged once every instance obeys them, whether this one keeps anything or not. */
export function announcedLoginTokens(inner: LoginTokens, invalidations: Invalidations): LoginTokens {
  return {
    ...inner,
    replace: (login, waitMs) =>
      announced(
        invalidations,
        { kind: 'customer', customerId: login.token.customerId },
        inner.replace(login, waitMs),
        // Also where nothing was left to revoke: another instance may have revoked the earlier token, and still wait.
        (revoked) => revoked !== null,
      ),
    // Also where another caller revoked it first: the response says that the token is revoked.
    revoke: (token, atMs, waitMs) =>
      announced(invalidations, { kind: 'digest', digest: token.digest }, inner.revoke(token, atMs, waitMs)),
    revokeOf: (customerId, chosen, atMs, waitMs) =>
      announced(
        invalidations,
        { kind: 'customer', customerId },
        inner.revokeOf(customerId, chosen, atMs, waitMs),
      ),
    revokeIssuedBefore: (beforeMs, atMs, waitMs) =>
      announced(invalidations, { kind: 'everything' }, inner.revokeIssuedBefore(beforeMs, atMs, waitMs)),
  }
}
