import { type Customer, emailProblem, trimmedEmail } from '../domain/customer.ts'
import { ValidationFailed } from '../domain/errors.ts'
import { isWholePasswordHash, newPasswordProblem } from '../domain/password.ts'
import { announced } from './announced.ts'
import type { Patience } from './patience.ts'
import type { Ports } from './ports.ts'

/** A password in clear, or a whole hash of one that came from elsewhere. */
export type NewPassword = { readonly password: string } | { readonly passwordHash: string }

/** What an operator does with customers; each throws `ValidationFailed` for input that may not be stored. */
export interface AdministerCustomers {
  /** Stores a new customer, with or without a password; null when the e-mail is taken. */
  add(
    customer: { readonly email: string; readonly name: string | null; readonly password: NewPassword | null },
    patience: Patience,
  ): Promise<Customer | null>
  /** The customer with this e-mail, or null. */
  find(email: string, patience: Patience): Promise<Customer | null>
  /** Sets a password; answers how many tokens were revoked by it, or null for an unknown id. */
  setPassword(id: string, password: NewPassword, patience: Patience): Promise<number | null>
  /** Ends the customer's tokens and logins; answers how many tokens were revoked, or null for an unknown id. */
  disable(id: string, patience: Patience): Promise<number | null>
  /** Lets the customer log in again; false for an unknown id. */
  enable(id: string, patience: Patience): Promise<boolean>
  /** Removes the customer with all tokens; false for an unknown id. */
  delete(id: string, patience: Patience): Promise<boolean>
}

export function makeAdministerCustomers({
  customers,
  invalidations,
  passwords,
  clock,
  ids,
}: Ports): AdministerCustomers {
  async function hashOf(password: NewPassword): Promise<string> {
    if ('password' in password) {
      refuse('password', newPasswordProblem(password.password))
      return passwords.hash(password.password)
    }
    if (!isWholePasswordHash(password.passwordHash)) refuse('password_hash', 'Must be a whole bcrypt hash.')
    return password.passwordHash
  }

  const ending = <T>(customerId: string, change: Promise<T>): Promise<T> =>
    announced(invalidations, { kind: 'customer', customerId }, change)

  return {
    async add({ email, name, password }, patience) {
      refuse('email', emailProblem(trimmedEmail(email)))
      if (name !== null) refuse('name', nameProblem(name))
      const customer: Customer = {
        id: ids.next(),
        email: trimmedEmail(email),
        name,
        createdAtMs: clock.nowMs(),
        disabledAtMs: null,
      }
      const passwordHash = password === null ? null : await hashOf(password)
      return (await patience.wait((waitMs) => customers.add({ customer, passwordHash }, waitMs)))
        ? customer
        : null
    },

    async find(email, patience) {
      const found = await patience.wait((waitMs) => customers.findByEmail(email, waitMs))
      return found?.customer ?? null
    },

    async setPassword(id, password, patience) {
      const passwordHash = await hashOf(password)
      return ending(
        id,
        patience.wait((waitMs) => customers.setPasswordHash(id, passwordHash, clock.nowMs(), waitMs)),
      )
    },

    disable: (id, patience) =>
      ending(
        id,
        patience.wait((waitMs) => customers.disable(id, clock.nowMs(), waitMs)),
      ),

    enable: (id, patience) => patience.wait((waitMs) => customers.enable(id, waitMs)),

    delete: (id, patience) =>
      ending(
        id,
        patience.wait((waitMs) => customers.delete(id, waitMs)),
      ),
  }
}

function nameProblem(name: string): string | null {
  if ([...name].length > 200) return 'Must have at most 200 characters.'
  if (!name.isWellFormed()) return 'Must be well-formed text.'
  return /[\u0000-\u001f\u007f-\u009f]/.test(name) ? 'Must not contain control characters.' : null
}

function refuse(field: string, problem: string | null): void {
  if (problem !== null) throw new ValidationFailed({ [field]: [problem] })
}
