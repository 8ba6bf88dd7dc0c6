import type { Digest, LoginToken, OwnedToken } from '../../domain/login-token.ts'
import type { Admission, HeldSession } from '../../domain/session.ts'
import type { Cancellation } from '../../lib/cancellation.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'

/**
 * The store of tokens. Ids are UUIDs. Every method rejects with `Unavailable` when the store does not respond within
 * `timeoutMs` milliseconds or cannot be reached; the outcome of a change is then unknown. Another error is a bug, such as
 * an id or a digest that another token has.
 */
export interface LoginTokens {
  /** Returns the token with this digest and its owner, whatever its state, or null. A cache hit returns no promise. */
  findByDigest(digest: Digest, timeoutMs: number): MaybePromise<OwnedToken | null>
  /** Returns the customer's tokens in any state, newest first; an empty array for an unknown id. */
  listByCustomer(customerId: string, timeoutMs: number): Promise<readonly LoginToken[]>
  /**
   * Returns at most `limit` tokens in any state, ordered by their owners' folded e-mails, then newest first. `after` is
   * the `end` of the page before; null starts at the first token.
   */
  list(
    page: { readonly after: PageEnd | null; readonly limit: number },
    timeoutMs: number,
  ): Promise<TokenPage>
  /** Returns the customer's unrevoked login tokens, newest first: at most 100. An empty array for an unknown id. */
  listSessions(customerId: string, timeoutMs: number): Promise<readonly LoginToken[]>
  /**
   * Stores a login token in one transaction, in which no other login of the customer takes place. It revokes the earlier
   * ones, or those that `admit` names. Parallel calls for one customer all succeed, and no two of its unrevoked login tokens
   * have the same slot. Returns the number of tokens that it revoked, or `full`, having changed nothing, when `admit` does.
   * Returns null, and changes nothing, when the customer was deleted, is disabled or no longer has the `verifiedHash`.
   */
  replace(login: NewLogin, timeoutMs: number): Promise<number | 'full' | null>
  /** Stores a token and revokes none. Returns false, and changes nothing, when the customer is deleted or disabled. */
  add(token: LoginToken, digest: Digest, timeoutMs: number): Promise<boolean>
  /** Revokes one token at `atMs`. Returns false, and changes nothing, when the token is not active. */
  revoke(
    token: { readonly id: string; readonly digest: Digest },
    atMs: number,
    timeoutMs: number,
  ): Promise<boolean>
  /** Revokes the chosen tokens of a customer at `atMs`; returns the number that it revoked. */
  revokeByCustomer(customerId: string, chosen: TokenChoice, atMs: number, timeoutMs: number): Promise<number>
  /**
   * Revokes every customer's tokens that were created before `beforeMs`; returns the number that it revoked. It proceeds
   * in steps: what the steps before a failure or a cancellation revoked stays revoked.
   */
  revokeIssuedBefore(beforeMs: number, atMs: number, steps: StepOptions): Promise<number>
  /**
   * Writes when tokens were last used. A later stored time stays, and one that is not `minAdvanceMs` earlier. It does not wait for locked rows: it returns the ids
   * of the tokens whose rows were locked, which the caller writes again later. Ignores unknown ids.
   */
  touch(uses: readonly TokenUse[], timeoutMs: number): Promise<readonly string[]>
  /**
   * Deletes at most `limit` tokens that were revoked or expired before `endedBeforeMs`, and skips locked rows. Returns
   * the number that it deleted, or null, having deleted none, while another process prunes.
   */
  prune(endedBeforeMs: number, limit: number, timeoutMs: number): Promise<number | null>
  /**
   * Reads at most `limit` unrevoked login tokens, starting after `after`, which is the `end` of the step before or null, and
   * revokes at `atMs` those that were created and last used before `unusedSinceMs`. Skips locked rows.
   */
  revokeIdle(
    step: {
      readonly unusedSinceMs: number
      readonly atMs: number
      readonly after: PageEnd | null
      readonly limit: number
    },
    timeoutMs: number,
  ): Promise<IdleStep>
}

/** The result of one step of `revokeIdle`: the number that it revoked, and the cursor of the next one or null. */
export interface IdleStep {
  readonly revoked: number
  readonly end: PageEnd | null
}

/** How a change of many rows proceeds in steps, each of which commits by itself. */
export interface StepOptions {
  /** The timeout of each step, in milliseconds. */
  readonly timeoutMs: number
  /** Called with the number of rows that a step changed, once the step has committed. */
  readonly onStep?: (changed: number) => void
  /** Once it aborts, no further step begins, and the call rejects with its reason. Null or left out: no cancellation. */
  readonly signal?: Cancellation | null
}

/** A cursor: where a page ended. Only the store that returned it can interpret it. */
export type PageEnd = string

/** One page of tokens. */
export interface TokenPage {
  readonly tokens: readonly { readonly token: LoginToken; readonly ownerEmail: string }[]
  /** The cursor of the next page; null when no token follows. */
  readonly end: PageEnd | null
}

/** Chooses tokens of a customer; all of them when both properties are left out. */
export interface TokenChoice {
  /** The tokens with this name. */
  readonly name?: string
  /** The token with this id, a UUID. */
  readonly id?: string
  /** Not the token with this id, a UUID. */
  readonly exceptId?: string
}

/** A token and when it was used, in milliseconds since the Unix epoch. */
export interface TokenUse {
  readonly id: string
  readonly atMs: number
  /** The use is written only when the stored time is at least this much earlier. Default: 1. */
  readonly minAdvanceMs?: number
}

/** A login token to store after a password was verified. */
export interface NewLogin {
  readonly token: LoginToken
  readonly digest: Digest
  /** The hash that the password was verified against. */
  readonly verifiedHash: string
  /**
   * Decides what is revoked and which slot the token gets, from the unrevoked login tokens of the customer in any order. It is
   * pure, and may be called again. Left out: all of them are revoked, and the token gets slot 1.
   */
  readonly admit?: (held: readonly HeldSession[]) => Admission | 'full'
}
