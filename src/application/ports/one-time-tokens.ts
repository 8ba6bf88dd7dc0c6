import type { Customer } from '../../domain/customer.ts'
import type { Digest } from '../../domain/login-token.ts'

/** A single-use token that a customer receives by mail, to confirm one thing. */
export interface OneTimeToken {
  readonly customerId: string
  /** What it confirms, such as `password-reset`: at most 100 ASCII characters. */
  readonly purpose: string
  readonly digest: Digest
  readonly expiresAtMs: number
}

/** A one-time token that was presented at `atMs`. */
export interface PresentedOneTimeToken {
  readonly purpose: string
  readonly digest: Digest
  readonly atMs: number
}

/**
 * The store of one-time tokens: at most one for each customer and purpose. A token is valid until it is used, replaced or
 * expires, until the customer's password is set or changed, and until the customer is disabled or deleted. Every method rejects with
 * `Unavailable` when the store does not respond within `timeoutMs` milliseconds or cannot be reached; the outcome of a change
 * is then unknown.
 */
export interface OneTimeTokens {
  /**
   * Stores a token in place of the customer's earlier one of the purpose. Returns false, and changes nothing, when the customer
   * is deleted or disabled.
   */
  add(token: OneTimeToken, timeoutMs: number): Promise<boolean>
  /** Returns the customer of a valid token with this digest and purpose, or null. Changes nothing. */
  find(presented: PresentedOneTimeToken, timeoutMs: number): Promise<Customer | null>
  /** The same, and deletes the token: of parallel calls, at most one returns the customer. */
  use(presented: PresentedOneTimeToken, timeoutMs: number): Promise<Customer | null>
}
