import type { Digest, LoginToken, OwnedToken } from '../../domain/login-token.ts'
import type { Cancellation } from '../../lib/cancellation.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'

export interface LoginTokens {
  /** The token with this digest and its owner, whatever its state, or null. */
  findByDigest(digest: Digest, timeoutMs: number): MaybePromise<OwnedToken | null>
  /** The tokens of one customer, newest first. */
  listByCustomer(customerId: string, timeoutMs: number): Promise<readonly LoginToken[]>
  /** One page of all tokens, in the order of their owners' folded e-mails, of each owner newest first. */
  list(
    page: { readonly after: PageEnd | null; readonly limit: number },
    timeoutMs: number,
  ): Promise<TokenPage>
  /**
   * Stores a login token and revokes the customer's earlier one, both or neither; of any number of parallel calls
   * for one customer all succeed and one token stays active. Answers how many it revoked; null, and changes nothing,
   * when the customer is gone or disabled or no longer has the `verifiedHash`.
   */
  replace(login: NewLogin, timeoutMs: number): Promise<number | null>
  /** Stores a token beside the customer's others; false when the customer is gone or disabled. */
  add(token: LoginToken, digest: Digest, timeoutMs: number): Promise<boolean>
  /** Revokes one token; false when it was not active any more. */
  revoke(
    token: { readonly id: string; readonly digest: Digest },
    atMs: number,
    timeoutMs: number,
  ): Promise<boolean>
  /** Revokes those of a customer's tokens that are chosen; answers how many. */
  revokeByCustomer(customerId: string, chosen: TokenChoice, atMs: number, timeoutMs: number): Promise<number>
  /**
   * Revokes every customer's tokens that were created before a moment; returns their number. It proceeds in steps: what
   * the steps before a failure or a cancellation revoked stays revoked.
   */
  revokeIssuedBefore(beforeMs: number, atMs: number, steps: StepOptions): Promise<number>
  /**
   * Writes when tokens were last used, and never an earlier time over a later one. It waits for nobody who holds a
   * token's row: answers the ids whose rows were held, to be written another time.
   */
  touch(uses: readonly TokenUse[], timeoutMs: number): Promise<readonly string[]>
  /**
   * Removes at most `limit` tokens that were revoked or expired before a moment, and that nobody holds; answers how
   * many, or null, having removed none, while another one prunes.
   */
  prune(endedBeforeMs: number, limit: number, timeoutMs: number): Promise<number | null>
}

/** How a change of many rows proceeds in steps, each of them committed by itself. */
export interface StepOptions {
  /** The deadline of each step, in milliseconds. */
  readonly timeoutMs: number
  /** Receives the number of rows that a step changed, once it has committed. */
  readonly onStep?: (changed: number) => void
  /** Once it aborts, no further step begins, and the call rejects with its reason. */
  readonly signal?: Cancellation | null
}

/** Where a page ended, as the store that made the page understands it. */
export type PageEnd = string

export interface TokenPage {
  readonly tokens: readonly { readonly token: LoginToken; readonly ownerEmail: string }[]
  /** Null when nothing follows. */
  readonly end: PageEnd | null
}

/** Which tokens of a customer: those of this name, the one with this id (a UUID), all where neither is given. */
export interface TokenChoice {
  readonly name?: string
  readonly id?: string
}

/** A token and when it was used. */
export interface TokenUse {
  readonly id: string
  readonly atMs: number
}

export interface NewLogin {
  readonly token: LoginToken
  readonly digest: Digest
  /** The hash that the password was verified against. */
  readonly verifiedHash: string
}
