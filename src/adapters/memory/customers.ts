import type { CustomerCredentials, Customers } from '../../application/ports.ts'
import { type Customer, foldedEmail } from '../../domain/customer.ts'
import { type MemoryStore, revokeTokens } from './store.ts'

/** Customers in a store of this process; what is stored is gone when the process ends. */
export function memoryCustomers(store: MemoryStore): Customers {
  const { customers, tokens } = store
  return {
    async findByEmail(email) {
      return withEmail(email) ?? null
    },

    async add({ customer, passwordHash }) {
      if (withEmail(customer.email) !== undefined) return false
      if (customers.has(customer.id)) throw new Error('A customer with this id exists.')
      keep({ customer: { ...customer }, passwordHash })
      return true
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

// As a database in UTF-8 sorts by the collation "C"; a comparison of strings would go by UTF-16.
function byteOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(foldedEmail(a)), Buffer.from(foldedEmail(b)))
}
