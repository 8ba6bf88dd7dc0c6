import type { Customer } from '../../domain/customer.ts'
import type { PresentedOneTimeToken } from './one-time-tokens.ts'

/** A customer with the stored password hash. */
export interface CustomerCredentials {
  readonly customer: Customer
  /** Null when the customer has no password: no login succeeds then. */
  readonly passwordHash: string | null
}

/** A new password, set by the customer. */
export interface PasswordChange {
  readonly customerId: string
  /** The hash that the current password was verified against. */
  readonly verifiedHash: string
  readonly passwordHash: string
  /** The id of the token that stays active. */
  readonly keepTokenId: string
  /** The time of the revocations. */
  readonly atMs: number
}

/** A new password, set with a one-time token. `atMs` is the time of the revocations, too. */
export interface PasswordReset extends PresentedOneTimeToken {
  readonly customerId: string
  readonly passwordHash: string
}

/**
 * The store of customers. Ids are UUIDs. E-mails are compared with ASCII case folded. Every method rejects with
 * `Unavailable` when the store does not respond within `timeoutMs` milliseconds or cannot be reached; the outcome of
 * a change is then unknown. Another error is a bug, such as an id that another customer has.
 */
export interface Customers {
  /** Returns the customer with this e-mail, in any ASCII case, or null. */
  findByEmail(email: string, timeoutMs: number): Promise<CustomerCredentials | null>
  /** Returns the customer with this id, or the owner of the token with this id, in any state; or null. */
  findById(id: string, timeoutMs: number): Promise<Customer | null>
  /** Stores a new customer. Returns false, and changes nothing, when the e-mail is taken in any ASCII case. */
  add(credentials: CustomerCredentials, timeoutMs: number): Promise<boolean>
  /**
   * Stores new customers in one transaction; stores none when it rejects. Returns one boolean for each, in order: false
   * when the e-mail is taken in any ASCII case, also by an earlier customer of the same call.
   */
  addMany(credentials: readonly CustomerCredentials[], timeoutMs: number): Promise<readonly boolean[]>
  /**
   * Returns at most `limit` customers in the byte order of their folded e-mails, starting after `afterEmail`; null starts
   * at the first. Returns an empty array when no customer follows.
   */
  list(
    page: { readonly afterEmail: string | null; readonly limit: number },
    timeoutMs: number,
  ): Promise<readonly Customer[]>
  /**
   * Sets the password hash, revokes the customer's tokens and deletes the customer's one-time tokens, in one transaction. `atMs` is
   * the time of the revocation.
   * Returns the number of tokens that it revoked, or null when no customer has the id.
   */
  setPasswordHash(id: string, passwordHash: string, atMs: number, timeoutMs: number): Promise<number | null>
  /**
   * Sets the password hash, revokes the customer's tokens but one and deletes the customer's one-time tokens, in one transaction.
   * Returns the number of tokens that it revoked. Returns null, and changes nothing, when the customer was deleted, is disabled, no longer has the `verifiedHash`,
   * or the token to keep is not an unrevoked one of the customer.
   */
  changePassword(change: PasswordChange, timeoutMs: number): Promise<number | null>
  /**
   * Uses up a one-time token of the customer and does the same as `setPasswordHash`, in one transaction: when it fails, the token
   * stays valid. Returns the number of tokens that it revoked. Returns null, and changes nothing, when the customer was deleted or is
   * disabled, or has no valid one-time token with this digest and purpose. The customer is locked before the one-time token is
   * checked: of parallel resets and changes of the password, none overwrites the result of another that has ended its token.
   */
  resetPassword(reset: PasswordReset, timeoutMs: number): Promise<number | null>
  /**
   * Replaces the hash `from` by the hash `to` of the same password, and revokes nothing. Returns false, and changes
   * nothing, when the customer's hash is no longer `from` or no customer has the id.
   */
  rehash(id: string, from: string, to: string, timeoutMs: number): Promise<boolean>
  /**
   * Disables the customer, revokes the customer's tokens and deletes the one-time tokens, in one transaction. `atMs` is the time of both; a customer
   * who is disabled already keeps the earlier time. Returns the number of tokens that it revoked, or null when no
   * customer has the id.
   */
  disable(id: string, atMs: number, timeoutMs: number): Promise<number | null>
  /** Lets the customer log in again; revoked tokens stay revoked. Returns false when no customer has the id. */
  enable(id: string, timeoutMs: number): Promise<boolean>
  /** Deletes the customer with all tokens. Returns false when no customer has the id. */
  delete(id: string, timeoutMs: number): Promise<boolean>
}
