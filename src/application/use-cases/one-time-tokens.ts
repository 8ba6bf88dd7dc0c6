import type { Customer } from '../../domain/customer.ts'
import type { Deadline } from '../deadline.ts'
import type { Ports } from '../ports/ports.ts'
import { type RequestOrigin, requesterFields } from '../requester.ts'

/**
 * Single-use tokens that a program sends to customers, such as by mail, so that they confirm one thing: an e-mail address or a new
 * password. Only their digests are stored.
 */
export interface ManageOneTimeTokens {
  /**
   * Creates a token for a purpose that the program names, such as `password-reset`, in at most 100 ASCII characters. It replaces the
   * customer's earlier one of the same purpose. It expires after `ttlMs` milliseconds, with a new password of the customer, and when the
   * customer is disabled. Returns null when the customer is deleted or disabled.
   */
  issue(
    token: { readonly customerId: string; readonly purpose: string; readonly ttlMs: number },
    deadline: Deadline,
    requestedBy?: RequestOrigin,
  ): Promise<{ readonly secret: string; readonly expiresAtMs: number } | null>
  /** Returns the customer of a token without using it; null when it is unknown, used, expired or of another purpose. */
  find(presented: PresentedSecret, deadline: Deadline, requestedBy?: RequestOrigin): Promise<Customer | null>
  /** Returns the customer and uses the token up; null when it is unknown, used, expired or of another purpose. */
  use(presented: PresentedSecret, deadline: Deadline, requestedBy?: RequestOrigin): Promise<Customer | null>
}

/** The text of a one-time token, and the purpose for which it is accepted. */
export interface PresentedSecret {
  readonly secret: string
  readonly purpose: string
}

export function createOneTimeTokens({
  oneTimeTokens,
  secrets,
  clock,
  audit,
}: Pick<Ports, 'oneTimeTokens' | 'secrets' | 'clock' | 'audit'>): ManageOneTimeTokens {
  return {
    async issue({ customerId, purpose, ttlMs }, deadline, requestedBy) {
      const { secret, digest } = secrets.issue()
      const expiresAtMs = clock.nowMs() + ttlMs
      const token = { customerId, purpose, digest, expiresAtMs }
      if (!(await deadline.run((timeoutMs) => oneTimeTokens.add(token, timeoutMs)))) return null
      audit.record('one_time_token.issued', { ...originFields(requestedBy), customerId, purpose })
      return { secret, expiresAtMs }
    },

    find: (presented, deadline, requestedBy) => look('find', presented, deadline, requestedBy),

    async use(presented, deadline, requestedBy) {
      const customer = await look('use', presented, deadline, requestedBy)
      if (customer === null) return null
      const { purpose } = presented
      const fields = { ...originFields(requestedBy), customerId: customer.id, purpose }
      audit.record('one_time_token.used', fields)
      return customer
    },
  }

  async function look(
    method: 'find' | 'use',
    { secret, purpose }: PresentedSecret,
    deadline: Deadline,
    requestedBy: RequestOrigin | undefined,
  ): Promise<Customer | null> {
    const digest = secrets.digestOf(secret)
    if (digest === null) return null
    const presented = { digest, purpose, atMs: clock.nowMs() }
    const customer = await deadline.run((timeoutMs) => oneTimeTokens[method](presented, timeoutMs))
    if (customer === null) audit.record('token.denied', { ...originFields(requestedBy), reason: 'one_time' })
    return customer
  }
}

function originFields(requestedBy: RequestOrigin | undefined) {
  return requestedBy === undefined ? {} : requesterFields(requestedBy)
}
