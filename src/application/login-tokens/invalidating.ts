import type { Invalidation, Invalidations } from '../ports/invalidations.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'

/**
 * Answers what a change that may end tokens answered, once every instance obeys it. A change whose outcome is unknown
 * is obeyed here and rejects without waiting for the others: nothing of it is acknowledged.
 */
export async function publishInvalidation<T>(
  invalidations: Invalidations,
  invalidation: Invalidation,
  change: Promise<T>,
  mayHaveEnded: (answer: T) => boolean = () => true,
): Promise<T> {
  const answer = await change.catch((error: unknown) => {
    // Whether the others hear of it decides nothing here, not even by failing.
    invalidations.publish(invalidation).catch(() => {})
    throw error
  })
  if (mayHaveEnded(answer)) await invalidations.publish(invalidation)
  return answer
}

/** Login tokens whose changes are acknowledged once every instance obeys them, whether this one keeps anything or not. */
export function invalidatingLoginTokens(inner: LoginTokens, invalidations: Invalidations): LoginTokens {
  return {
    ...inner,
    replace: (login, timeoutMs) =>
      publishInvalidation(
        invalidations,
        { kind: 'customer', customerId: login.token.customerId },
        inner.replace(login, timeoutMs),
        // Also where nothing was left to revoke: another instance may have revoked the earlier token, and still wait.
        (revoked) => revoked !== null,
      ),
    // Also where another caller revoked it first: the response says that the token is revoked.
    revoke: (token, atMs, timeoutMs) =>
      publishInvalidation(
        invalidations,
        { kind: 'digest', digest: token.digest },
        inner.revoke(token, atMs, timeoutMs),
      ),
    revokeByCustomer: (customerId, chosen, atMs, timeoutMs) =>
      publishInvalidation(
        invalidations,
        { kind: 'customer', customerId },
        inner.revokeByCustomer(customerId, chosen, atMs, timeoutMs),
      ),
    revokeIssuedBefore: (beforeMs, atMs, timeoutMs) =>
      publishInvalidation(
        invalidations,
        { kind: 'everything' },
        inner.revokeIssuedBefore(beforeMs, atMs, timeoutMs),
      ),
  }
}
