import { methods } from '../../lib/methods.ts'
import type { Customers } from '../ports/customers.ts'
import type { Invalidation, Invalidations } from '../ports/invalidations.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'

/**
 * Waits for a change that may revoke tokens, publishes the invalidation, and returns the result of the change once every
 * instance has applied it. When the change rejects, its outcome is unknown: this instance applies the invalidation, and
 * the call rejects without waiting for the others.
 */
export async function publishInvalidation<T>(
  invalidations: Invalidations,
  invalidation: Invalidation,
  change: Promise<T>,
  mayHaveRevoked: (result: T) => boolean = () => true,
): Promise<T> {
  const result = await change.catch((error: unknown) => {
    // The change is not acknowledged, so a failure to publish it does not matter.
    invalidations.publish(invalidation).catch(() => {})
    throw error
  })
  if (mayHaveRevoked(result)) await invalidations.publish(invalidation)
  return result
}

/** Login tokens whose changes resolve once every instance has applied them, whether or not this one has a cache. */
export function invalidatingLoginTokens(inner: LoginTokens, invalidations: Invalidations): LoginTokens {
  return {
    ...methods(inner),
    replace: (login, timeoutMs) =>
      publishInvalidation(
        invalidations,
        { kind: 'customer', customerId: login.token.customerId },
        inner.replace(login, timeoutMs),
        // Also when it revoked nothing: another instance may have revoked the earlier token and still be waiting.
        (revoked) => typeof revoked === 'number',
      ),
    // Also when another caller revoked it first: the response says that the token is revoked.
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
    revokeIssuedBefore: (beforeMs, atMs, steps) =>
      publishInvalidation(
        invalidations,
        { kind: 'everything' },
        inner.revokeIssuedBefore(beforeMs, atMs, steps),
      ),
  }
}

/** Customers whose changes that revoke tokens resolve once every instance has applied them. */
export function invalidatingCustomers(inner: Customers, invalidations: Invalidations): Customers {
  const publish = <T>(customerId: string, change: Promise<T>): Promise<T> =>
    publishInvalidation(invalidations, { kind: 'customer', customerId }, change)
  return {
    findByEmail: (email, timeoutMs) => inner.findByEmail(email, timeoutMs),
    findById: (id, timeoutMs) => inner.findById(id, timeoutMs),
    add: (credentials, timeoutMs) => inner.add(credentials, timeoutMs),
    addMany: (credentials, timeoutMs) => inner.addMany(credentials, timeoutMs),
    list: (page, timeoutMs) => inner.list(page, timeoutMs),
    rehash: (id, from, to, timeoutMs) => inner.rehash(id, from, to, timeoutMs),
    enable: (id, timeoutMs) => inner.enable(id, timeoutMs),
    // Also for an unknown id: another caller may have deleted the customer and still be waiting.
    setPasswordHash: (id, passwordHash, atMs, timeoutMs) =>
      publish(id, inner.setPasswordHash(id, passwordHash, atMs, timeoutMs)),
    // Also when it changed nothing: the token to keep may have been revoked by another caller, who is still waiting.
    changePassword: (change, timeoutMs) =>
      publish(change.customerId, inner.changePassword(change, timeoutMs)),
    // Also for a one-time token that is not valid: another caller may have used it and still be waiting.
    resetPassword: (reset, timeoutMs) => publish(reset.customerId, inner.resetPassword(reset, timeoutMs)),
    disable: (id, atMs, timeoutMs) => publish(id, inner.disable(id, atMs, timeoutMs)),
    delete: (id, timeoutMs) => publish(id, inner.delete(id, timeoutMs)),
  }
}
