import type { CustomerCredentials } from '../../application/ports/customers.ts'
import type { OneTimeToken, PresentedOneTimeToken } from '../../application/ports/one-time-tokens.ts'
import type { Digest, LoginToken } from '../../domain/login-token.ts'

/**
 * The data that the in-memory adapters share, like the tables of a database. It is lost when the process ends. Each call
 * of an adapter is synchronous inside, and therefore atomic.
 */
export interface MemoryStore {
  readonly customers: Map<string, CustomerCredentials>
  readonly tokens: Map<Digest, LoginToken>
  /** By customer and purpose. */
  readonly oneTimeTokens: Map<string, OneTimeToken>
}

/** Creates an empty store. */
export function memoryStore(): MemoryStore {
  return { customers: new Map(), tokens: new Map(), oneTimeTokens: new Map() }
}

/** Revokes the unrevoked tokens for which `concerns` returns true; returns their number. */
export function revokeTokens(
  { tokens }: MemoryStore,
  concerns: (token: LoginToken) => boolean,
  atMs: number,
): number {
  let revoked = 0
  for (const [digest, token] of tokens) {
    if (token.revokedAtMs !== null || !concerns(token)) continue
    tokens.set(digest, Object.freeze({ ...token, revokedAtMs: atMs }))
    revoked += 1
  }
  return revoked
}

/** Returns the one-time token with this digest and purpose that has not expired. */
export function findOneTimeToken(
  { oneTimeTokens }: MemoryStore,
  { digest, purpose, atMs }: PresentedOneTimeToken,
): OneTimeToken | undefined {
  return [...oneTimeTokens.values()].find(
    (token) => token.digest === digest && token.purpose === purpose && token.expiresAtMs > atMs,
  )
}

/** Deletes the customer's one-time tokens. */
export function deleteOneTimeTokens({ oneTimeTokens }: MemoryStore, customerId: string): void {
  for (const [key, token] of oneTimeTokens) if (token.customerId === customerId) oneTimeTokens.delete(key)
}
