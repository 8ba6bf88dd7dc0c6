import { type Customer, nameProblem, newEmailProblem, trimmedEmail } from '../../domain/customer.ts'
import type { Deadline } from '../deadline.ts'
import { hashNewPassword, type NewPassword } from '../management/hash-new-password.ts'
import { requireValid } from '../management/require-valid.ts'
import type { Ports } from '../ports/ports.ts'

/**
 * An operator's actions on customers. Each throws `ValidationFailed` for invalid input, and `Unavailable` when the store
 * does not respond within the deadline. The wait until every instance has applied a revocation counts against the deadline.
 */
export interface ManageCustomers {
  /** Stores a new customer, with or without a password. Returns null when the e-mail is taken. */
  add(
    customer: { readonly email: string; readonly name: string | null; readonly password: NewPassword | null },
    deadline: Deadline,
  ): Promise<Customer | null>
  /** Returns the customer with this e-mail, or null. */
  find(email: string, deadline: Deadline): Promise<Customer | null>
  /** Sets a password and revokes the customer's tokens. Returns their number, or null for an unknown id. */
  setPassword(id: string, password: NewPassword, deadline: Deadline): Promise<number | null>
  /** Disables the customer and revokes the customer's tokens. Returns their number, or null for an unknown id. */
  disable(id: string, deadline: Deadline): Promise<number | null>
  /** Lets the customer log in again. Returns false for an unknown id. */
  enable(id: string, deadline: Deadline): Promise<boolean>
  /** Deletes the customer with all tokens. Returns false for an unknown id. */
  delete(id: string, deadline: Deadline): Promise<boolean>
}

export function createManageCustomers(
  ports: Pick<Ports, 'customers' | 'passwords' | 'blocklist' | 'clock' | 'ids' | 'audit'>,
): ManageCustomers {
  const { customers, clock, ids, audit } = ports

  /** Records the change in the audit log, with the number of revoked tokens; records nothing for an unknown id. */
  function recordChange(
    id: string,
    what: 'password_set' | 'disabled',
    revoked: number | null,
  ): number | null {
    if (revoked === null) return null
    audit.record(`customer.${what}`, { customerId: id })
    if (revoked > 0) audit.record('token.revoked', { customerId: id, reason: what, count: revoked })
    return revoked
  }

  return {
    async add({ email, name, password }, deadline) {
      requireValid('email', newEmailProblem(trimmedEmail(email)))
      if (name !== null) requireValid('name', nameProblem(name))
      const customer: Customer = {
        id: ids.next(),
        email: trimmedEmail(email),
        name,
        createdAtMs: clock.nowMs(),
        disabledAtMs: null,
      }
      const passwordHash = password === null ? null : await hashNewPassword(ports, password)
      if (!(await deadline.run((timeoutMs) => customers.add({ customer, passwordHash }, timeoutMs))))
        return null
      audit.record('customer.added', { customerId: customer.id })
      return customer
    },

    async find(email, deadline) {
      const found = await deadline.run((timeoutMs) => customers.findByEmail(email, timeoutMs))
      return found?.customer ?? null
    },

    async setPassword(id, password, deadline) {
      const passwordHash = await hashNewPassword(ports, password)
      const revoked = await deadline.run((timeoutMs) =>
        customers.setPasswordHash(id, passwordHash, clock.nowMs(), timeoutMs),
      )
      return recordChange(id, 'password_set', revoked)
    },

    async disable(id, deadline) {
      const revoked = await deadline.run((timeoutMs) => customers.disable(id, clock.nowMs(), timeoutMs))
      return recordChange(id, 'disabled', revoked)
    },

    async enable(id, deadline) {
      const known = await deadline.run((timeoutMs) => customers.enable(id, timeoutMs))
      if (known) audit.record('customer.enabled', { customerId: id })
      return known
    },

    async delete(id, deadline) {
      const known = await deadline.run((timeoutMs) => customers.delete(id, timeoutMs))
      if (known) audit.record('customer.deleted', { customerId: id })
      return known
    },
  }
}
