import type { CustomerCredentials } from '../../application/ports/customers.ts'
import type { Digest, LoginToken } from '../../domain/login-token.ts'

/** What the in-memory adapters share, as the tables of a database are shared: each call is one step, so atomic. */
export interface MemoryStore {
  readonly customers: Map<string, CustomerCredentials>
  readonly tokens: Map<Digest, LoginToken>
}

/** An empty store. */
export function memoryStore(): MemoryStore {
  return { customers: new Map(), tokens: new Map() }
}

/** Revokes the unrevoked tokens that `concerns` picks; answers how many. */
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
