import type { CustomerCredentials, Customers } from '../../application/ports/customers.ts'
import { type Customer, foldedEmail } from '../../domain/customer.ts'
import { type MemoryStore, revokeTokens } from './store.ts'

/** Customers in a store of this process; what is stored is gone when the process ends. */
export function memoryCustomers(store: MemoryStore): Customers {
  const { customers, tokens } = store
  return {
    async findByEmail(email) {
      return withEmail(email) ?? null
    },

    async add(credentials) {
      return added(credentials)
    },

    async addMany(credentials) {
      for (const { customer } of credentials) refuseOtherWithId(customer)
      return credentials.map(added)
    },

    async list({ afterEmail, limit }) {
      return [...customers.values()]
        .map(({ customer }) => customer)
        .filter(({ email }) => afterEmail === null || byteOrder(email, afterEmail) > 0)
        .sort((a, b) => byteOrder(a.email, b.email))
        .slice(0, limit)
    },

    async setPasswordHash(id, passwordHash, atMs) {
      return ending(id, atMs, ({ customer }) => ({ customer, passwordHash }))
    },

    async rehash(id, from, to) {
      const found = customers.get(id)
      if (found?.passwordHash !== from) return false
      keep({ ...found, passwordHash: to })
      return true
    },

    async disable(id, atMs) {
      return ending(id, atMs, ({ customer, passwordHash }) => ({
        customer: { ...customer, disabledAtMs: customer.disabledAtMs ?? atMs },
        passwordHash,
      }))
    },

    async enable(id) {
      const found = customers.get(id)
      if (found === undefined) return false
      keep({ ...found, customer: { ...found.customer, disabledAtMs: null } })
      return true
    },

    async delete(id) {
      for (const [digest, token] of tokens) if (token.customerId === id) tokens.delete(digest)
      return customers.delete(id)
    },
  }

  function withEmail(email: string): CustomerCredentials | undefined {
    const folded = foldedEmail(email)
    return [...customers.values()].find(({ customer }) => foldedEmail(customer.email) === folded)
  }

  function added({ customer, passwordHash }: CustomerCredentials): boolean {
    if (withEmail(customer.email) !== undefined) return false
    refuseOtherWithId(customer)
    keep({ customer: { ...customer }, passwordHash })
    return true
  }

  function refuseOtherWithId({ id, email }: Customer): void {
    if (customers.has(id) && withEmail(email) === undefined)
      throw new Error('A customer with this id exists.')
  }

  function keep({ customer, passwordHash }: CustomerCredentials): void {
    const frozen: Customer = Object.freeze(customer)
    customers.set(customer.id, Object.freeze({ customer: frozen, passwordHash }))
  }

  function ending(
    id: string,
    atMs: number,
    change: (before: CustomerCredentials) => CustomerCredentials,
  ): number | null {
    const found = customers.get(id)
    if (found === undefined) return null
    keep(change(found))
    return revokeTokens(store, ({ customerId }) => customerId === id, atMs)
  }
}

/** The order of two e-mails, folded, as a database in UTF-8 sorts by the collation "C"; strings go by UTF-16. */
export function byteOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(foldedEmail(a)), Buffer.from(foldedEmail(b)))
}
