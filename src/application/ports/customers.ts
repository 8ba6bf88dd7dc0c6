import type { Customer } from '../../domain/customer.ts'

/** A customer with the stored password hash. */
export interface CustomerCredentials {
  readonly customer: Customer
  /** Null when the customer has no password: no login succeeds then. */
  readonly passwordHash: string | null
}

/**
 * The store of customers. Ids are UUIDs. E-mails are compared with ASCII case folded. Every method rejects with
 * `Unavailable` when the store does not respond within `timeoutMs` milliseconds or cannot be reached; the outcome of
 * a change is then unknown. Another error is a bug, such as an id that another customer has.
 */
export interface Customers {
  /** Returns the customer with this e-mail, in any ASCII case, or null. */
  findByEmail(email: string, timeoutMs: number): Promise<CustomerCredentials | null>
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
   * Sets the password hash and revokes the customer's tokens in one transaction. `atMs` is the time of the revocation.
   * Returns the number of tokens that it revoked, or null when no customer has the id.
   */
  setPasswordHash(id: string, passwordHash: string, atMs: number, timeoutMs: number): Promise<number | null>
  /**
   * Replaces the hash `from` by the hash `to` of the same password, and revokes nothing. Returns false, and changes
   * nothing, when the customer's hash is no longer `from` or no customer has the id.
   */
  rehash(id: string, from: string, to: string, timeoutMs: number): Promise<boolean>
  /**
   * Disables the customer and revokes the customer's tokens in one transaction. `atMs` is the time of both; a customer
   * who is disabled already keeps the earlier time. Returns the number of tokens that it revoked, or null when no
   * customer has the id.
   */
  disable(id: string, atMs: number, timeoutMs: number): Promise<number | null>
  /** Lets the customer log in again; revoked tokens stay revoked. Returns false when no customer has the id. */
  enable(id: string, timeoutMs: number): Promise<boolean>
  /** Deletes the customer with all tokens. Returns false when no customer has the id. */
  delete(id: string, timeoutMs: number): Promise<boolean>
}
