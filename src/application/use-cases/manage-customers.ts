import { type Customer, emailProblem, nameProblem, trimmedEmail } from '../../domain/customer.ts'
import { ValidationFailed } from '../../domain/errors.ts'
import { isWholePasswordHash, newPasswordProblem } from '../../domain/password.ts'
import type { Deadline } from '../deadline.ts'
import type { Ports } from '../ports/ports.ts'

/** A password in clear text, or a whole hash from another system. */
export type NewPassword = { readonly password: string } | { readonly passwordHash: string }

/**
 * An operator's actions on customers. Each throws `ValidationFailed` for invalid input, and `Unavailable` when the store
 * does not respond within the deadline.
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

export function createManageCustomers({
  customers,
  passwords,
  blocklist,
  clock,
  ids,
  audit,
}: Pick<Ports, 'customers' | 'passwords' | 'blocklist' | 'clock' | 'ids' | 'audit'>): ManageCustomers {
  async function toHash(password: NewPassword): Promise<string> {
    if ('password' in password) {
      refuse('password', newPasswordProblem(password.password))
      if (await blocklist.has(password.password)) refuse('password', 'Too common. Choose another password.')
      return passwords.hash(password.password)
    }
    if (!isWholePasswordHash(password.passwordHash)) refuse('password_hash', 'Must be a whole bcrypt hash.')
    return password.passwordHash
  }

  /** Records the change in the audit log, with the number of revoked tokens; records nothing for an unknown id. */
  function recordChange(
    id: string,
    what: 'password_set' | 'disabled',
    revoked: number | null,
  ): number | null {
    if (revoked === null) return null
    audit.record(`customer.${what}`, { customer_id: id })
    if (revoked > 0) audit.record('token.revoked', { customer_id: id, reason: what, count: revoked })
    return revoked
  }

  return {
    async add({ email, name, password }, deadline) {
      refuse('email', emailProblem(trimmedEmail(email)))
      if (name !== null) refuse('name', nameProblem(name))
      const customer: Customer = {
        id: ids.next(),
        email: trimmedEmail(email),
        name,
        createdAtMs: clock.nowMs(),
        disabledAtMs: null,
      }
      const passwordHash = password === null ? null : await toHash(password)
      if (!(await deadline.run((timeoutMs) => customers.add({ customer, passwordHash }, timeoutMs))))
        return null
      audit.record('customer.added', { customer_id: customer.id })
      return customer
    },

    async find(email, deadline) {
      const found = await deadline.run((timeoutMs) => customers.findByEmail(email, timeoutMs))
      return found?.customer ?? null
    },

    async setPassword(id, password, deadline) {
      const passwordHash = await toHash(password)
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
      if (known) audit.record('customer.enabled', { customer_id: id })
      return known
    },

    async delete(id, deadline) {
      const known = await deadline.run((timeoutMs) => customers.delete(id, timeoutMs))
      if (known) audit.record('customer.deleted', { customer_id: id })
      return known
    },
  }
}

function refuse(field: string, problem: string | null): void {
  if (problem !== null) throw new ValidationFailed({ [field]: [problem] })
}
