import { InvalidToken, MalformedToken } from '../../domain/errors.ts'
import { authenticates, type Digest, type OwnedToken, tokenState } from '../../domain/login-token.ts'
import { andThen, isPromise, type MaybePromise } from '../../lib/maybe-promise.ts'
import type { AuditReason } from '../audit-events.ts'
import type { Deadline } from '../deadline.ts'
import { createIdleCheck } from '../login-tokens/idle-expiry.ts'
import type { Bucket, UnknownTokenLimit } from '../login-tokens/unknown-token-limit.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields } from '../requester.ts'

/** The caller of a protected route: a customer, by one of the customer's tokens. */
export interface Caller extends OwnedToken {
  readonly digest: Digest
}

/**
 * Returns the token that was presented and its owner; synchronously when the token is cached. Throws `InvalidToken`, or
 * `TooManyUnknownTokens` without a lookup when too many tokens of the address were rejected.
 */
export type Authenticate = (
  presented: string,
  deadline: Deadline,
  requester: Requester,
) => MaybePromise<Caller>

/** The same for the digest of a well-formed token, as verifiers send it. */
export type AuthenticateDigest = (
  digest: Digest,
  deadline: Deadline,
  requester: Requester,
) => MaybePromise<Caller>

/** Checks the form and checksum of the text, then its digest. */
export function createAuthenticate(
  { secrets }: Pick<Ports, 'secrets'>,
  authenticateDigest: AuthenticateDigest,
): Authenticate {
  // One instance: the error carries no details, and a stack for each would cost more than the check.
  const malformed = new MalformedToken()
  return function authenticate(presented, deadline, requester) {
    const digest = secrets.digestOf(presented)
    if (digest === null) throw malformed
    return authenticateDigest(digest, deadline, requester)
  }
}

/** Looks the token up in the store, which may have a cache. */
export function createAuthenticateDigest(
  { loginTokens, clock, usage, audit }: Pick<Ports, 'loginTokens' | 'clock' | 'usage' | 'audit'>,
  unknownTokens: UnknownTokenLimit,
  tokenIdleTtlMs: number | null,
): AuthenticateDigest {
  const isIdle = createIdleCheck(tokenIdleTtlMs, usage)
  const refusal = new InvalidToken()

  return function authenticateDigest(digest, deadline, requester) {
    const reserved = unknownTokens.reserve(digest, requester)
    const found = deadline.run((timeoutMs) => loginTokens.findByDigest(digest, timeoutMs))
    // A result without a promise comes from the cache, which a lookup filled.
    const wasLookedUp = isPromise(found)
    return andThen(releaseOnFailure(found, reserved), (owned) => {
      // Checked on every use, not only on the lookup: a cached entry must not outlive the token.
      const nowMs = clock.nowMs()
      if (owned === null || !authenticates(owned, nowMs) || isIdle(owned.token, nowMs)) {
        unknownTokens.charge(digest, requester, reserved)
        const reason = denialReason(owned, nowMs)
        audit.record('token.denied', { ...requesterFields(requester), ...auditIds(owned), reason })
        throw refusal
      }
      if (reserved !== null) unknownTokens.release(reserved)
      if (wasLookedUp) unknownTokens.remember(digest)
      usage.used(owned.token.id)
      return { token: owned.token, customer: owned.customer, digest, memo: owned.memo }
    })
  }

  function releaseOnFailure<T>(found: MaybePromise<T>, reserved: Bucket | null): MaybePromise<T> {
    if (reserved === null || !isPromise(found)) return found
    return Promise.resolve(found).catch((error: unknown) => {
      unknownTokens.release(reserved)
      throw error
    })
  }
}

function denialReason(owned: OwnedToken | null, nowMs: number): AuditReason<'token.denied'> {
  if (owned === null) return 'unknown'
  if (owned.customer.disabledAtMs !== null) return 'disabled'
  const state = tokenState(owned.token, nowMs)
  return state === 'active' ? 'idle' : state
}

function auditIds(owned: OwnedToken | null) {
  return owned === null ? {} : { customerId: owned.customer.id, tokenId: owned.token.id }
}
