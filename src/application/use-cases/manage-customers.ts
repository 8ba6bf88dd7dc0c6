import {
  type Customer,
  foldedEmail,
  nameProblem,
  newEmailProblem,
  trimmedEmail,
} from '../../domain/customer.ts'
import { LOGIN_TOKEN_NAME } from '../../domain/login-token.ts'
import type { Deadline } from '../deadline.ts'
import { hashNewPassword, type NewPassword } from '../management/hash-new-password.ts'
import { requireValid } from '../management/require-valid.ts'
import type { AccountFailures } from '../ports/login-throttle.ts'
import type { Ports } from '../ports/ports.ts'
import { type ServiceRequester, serviceFields } from '../requester.ts'
import type { Settings } from './use-cases.ts'

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
  /**
   * Returns the customer with this e-mail or id, or the owner of the token with this id, with the failed logins that count,
   * which are null when the store cannot list them. Null when there is none. Records that the data was viewed.
   */
  view(
    search: CustomerSearch,
    deadline: Deadline,
    requestedBy: ServiceRequester,
  ): Promise<{ readonly customer: Customer; readonly failures: AccountFailures | null } | null>
  /** Sets a password and revokes the customer's tokens. Returns their number, or null for an unknown id. */
  setPassword(id: string, password: NewPassword, deadline: Deadline): Promise<number | null>
  /** Disables the customer and revokes the customer's tokens. Returns their number, or null for an unknown id. */
  disable(id: string, deadline: Deadline): Promise<number | null>
  /** Lets the customer log in again. Returns false for an unknown id. */
  enable(id: string, deadline: Deadline): Promise<boolean>
  /**
   * Lets a customer log in who is locked out: forgets the failed logins of the account and, where `LOGIN_SESSIONS_FULL` is
   * `refuse`, revokes the customer's login tokens, which frees their slots. Returns their number.
   */
  unlock(
    customer: Pick<Customer, 'id' | 'email'>,
    deadline: Deadline,
    requestedBy?: ServiceRequester,
  ): Promise<number>
  /** Deletes the customer with all tokens. Returns false for an unknown id. */
  delete(id: string, deadline: Deadline): Promise<boolean>
}

/** By e-mail, or by the id of a customer or a token. */
export type CustomerSearch = { readonly email: string } | { readonly id: string }

export function createManageCustomers(
  ports: Pick<
    Ports,
    'customers' | 'loginTokens' | 'passwords' | 'blocklist' | 'throttle' | 'clock' | 'ids' | 'audit'
  >,
  settings: Omit<Settings, 'tokenTtlMs' | 'loginLimitAccount'> = {},
): ManageCustomers {
  const { customers, loginTokens, throttle, clock, ids, audit } = ports
  const { loginSessionsFull = 'replace' } = settings

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
      const passwordHash =
        password === null ? null : await hashNewPassword(ports, password, customer, settings)
      if (!(await deadline.run((timeoutMs) => customers.add({ customer, passwordHash }, timeoutMs))))
        return null
      audit.record('customer.added', { customerId: customer.id })
      return customer
    },

    async find(email, deadline) {
      const found = await deadline.run((timeoutMs) => customers.findByEmail(email, timeoutMs))
      return found?.customer ?? null
    },

    async view(search, deadline, requestedBy) {
      const customer = await ('id' in search
        ? deadline.run((timeoutMs) => customers.findById(search.id, timeoutMs))
        : this.find(search.email, deadline))
      audit.record('customer.viewed', { ...serviceFields(requestedBy), customerId: customer?.id ?? null })
      if (customer === null) return null
      const account = foldedEmail(customer.email)
      const failures = await deadline.run(async (timeoutMs) => throttle.read?.(account, timeoutMs) ?? null)
      return { customer, failures }
    },

    async setPassword(id, password, deadline) {
      const customer =
        'password' in password ? await deadline.run((timeoutMs) => customers.findById(id, timeoutMs)) : null
      const passwordHash = await hashNewPassword(ports, password, customer, settings)
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

    async unlock({ id, email }, deadline, requestedBy) {
      const by = requestedBy === undefined ? {} : serviceFields(requestedBy)
      await deadline.run((timeoutMs) => throttle.forget(foldedEmail(email), timeoutMs))
      audit.record('customer.unlocked', { ...by, customerId: id })
      if (loginSessionsFull === 'replace') return 0
      const revoked = await deadline.run((timeoutMs) =>
        loginTokens.revokeByCustomer(id, { name: LOGIN_TOKEN_NAME }, clock.nowMs(), timeoutMs),
      )
      if (revoked > 0)
        audit.record('token.revoked', { ...by, customerId: id, reason: 'operator', count: revoked })
      return revoked
    },

    async delete(id, deadline) {
      const known = await deadline.run((timeoutMs) => customers.delete(id, timeoutMs))
      if (known) audit.record('customer.deleted', { customerId: id })
      return known
    },
  }
}
