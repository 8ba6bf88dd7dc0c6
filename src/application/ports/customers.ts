import type { Customer } from '../../domain/customer.ts'

/** A customer with what a password is verified against: null when none was set. */
export interface CustomerCredentials {
  readonly customer: Customer
  readonly passwordHash: string | null
}

export interface Customers {
  /** By e-mail in any ASCII case, or null. */
  findByEmail(email: string, timeoutMs: number): Promise<CustomerCredentials | null>
  /** Stores a new customer; false when the e-mail, in any ASCII case, is taken. */
  add(credentials: CustomerCredentials, timeoutMs: number): Promise<boolean>
  /**
   * Stores new customers, all that can be stored or, when it throws, none; answers for each in order whether it was:
   * false when the e-mail, in any ASCII case, is taken, by an earlier one of them too.
   */
  addMany(credentials: readonly CustomerCredentials[], timeoutMs: number): Promise<readonly boolean[]>
  /** One page in the order of the folded e-mails, starting behind `afterEmail`. */
  list(
    page: { readonly afterEmail: string | null; readonly limit: number },
    timeoutMs: number,
  ): Promise<readonly Customer[]>
  /** Sets the hash and revokes the customer's tokens, both or neither; answers how many, or null when unknown. */
  setPasswordHash(id: string, passwordHash: string, atMs: number, timeoutMs: number): Promise<number | null>
  /** Replaces a hash by another of the same password, and revokes nothing; false when the customer no longer has `from`. */
  rehash(id: string, from: string, to: string, timeoutMs: number): Promise<boolean>
  /** Disables and revokes the customer's tokens, both or neither; answers how many, or null when unknown. */
  disable(id: string, atMs: number, timeoutMs: number): Promise<number | null>
  /** Lets a disabled customer log in again; false when unknown. */
  enable(id: string, timeoutMs: number): Promise<boolean>
  /** Removes the customer with all tokens; false when unknown. */
  delete(id: string, timeoutMs: number): Promise<boolean>
}
