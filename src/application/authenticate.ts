import { coversAll } from '../domain/abilities.ts'
import { InsufficientScope, InvalidToken, MalformedToken } from '../domain/errors.ts'
import { authenticates, type Digest, type OwnedToken } from '../domain/login-token.ts'
import type { Patience } from './patience.ts'
import type { Ports } from './ports.ts'
import { type Soon, whenThere } from './soon.ts'

/** The caller of a protected route: a customer, by one of the customer's tokens. */
export interface Caller extends OwnedToken {
  readonly digest: Digest
}

/** Answers whose token was presented, or throws `InvalidToken`; the api middleware's first half. At once, from a cache. */
export type Authenticate = (presented: string, patience: Patience) => Soon<Caller>

/** Makes the check: the text's form and checksum first, then the store (a cache stands in front of it). */
export function makeAuthenticate({ secrets, loginTokens, clock }: Ports): Authenticate {
  // One for all: they say nothing of their occasion, and a stack for each would cost more than the check.
  const refusal = new InvalidToken()
  const malformed = new MalformedToken()

  return function authenticate(presented, patience) {
    const digest = secrets.digestOf(presented)
    if (digest === null) throw malformed
    const found = patience.wait((waitMs) => loginTokens.findByDigest(digest, waitMs))
    return whenThere(found, (owned) => {
      // Compared on every use, not only when it was read: a kept entry must not outlive the token.
      if (owned === null || !authenticates(owned, clock.nowMs())) throw refusal
      return { token: owned.token, customer: owned.customer, digest }
    })
  }
}

/** Throws `InsufficientScope` unless the caller's token covers every ability required; the middleware's second half. */
export function authorise({ token }: OwnedToken, required: readonly string[]): void {
  if (!coversAll(token.abilities, required)) throw new InsufficientScope(required)
}
