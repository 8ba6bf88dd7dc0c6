import type { ForeignForm } from '../../domain/foreign-token.ts'
import type { Digest, LoginToken } from '../../domain/login-token.ts'

/** A token of another system, with the e-mail of the customer who holds it. */
export interface ImportedToken {
  readonly token: Omit<LoginToken, 'customerId' | 'revokedAtMs'>
  readonly email: string
  /** The digest under which it is stored. */
  readonly digest: Digest
  /** Null for a token in Latchkey's own form. */
  readonly form: ForeignForm | null
  readonly externalId: string | null
}

/**
 * What became of an imported token: `exists` when one with its digest was stored before, for any customer, or is added by
 * an earlier token of the same call.
 */
export type ImportOutcome = 'added' | 'exists' | 'no_customer' | 'disabled'

/** The store of imported tokens. Its methods reject with `Unavailable` like those of `LoginTokens`. */
export interface ImportedTokens {
  /** Stores the tokens of customers who exist and are not disabled, unless a token has the digest; returns each outcome. */
  addMany(tokens: readonly ImportedToken[], timeoutMs: number): Promise<readonly ImportOutcome[]>
  /** Returns the outcomes that `addMany` would return, but stores nothing. */
  checkMany(tokens: readonly ImportedToken[], timeoutMs: number): Promise<readonly ImportOutcome[]>
  /** Returns at most `limit` tokens of a form that are not revoked, ordered by ID, after the ID `after`. */
  listUnrevoked(
    form: ForeignForm,
    page: { readonly after: string | null; readonly limit: number },
    timeoutMs: number,
  ): Promise<readonly { readonly id: string; readonly digest: Digest }[]>
  /** Revokes the tokens with these IDs; returns the number of them that were not revoked yet. */
  revokeMany(ids: readonly string[], atMs: number, timeoutMs: number): Promise<number>
}
