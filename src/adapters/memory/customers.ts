import type { CustomerCredentials, Customers } from '../../application/ports/customers.ts'
import { type Customer, foldedEmail } from '../../domain/customer.ts'
import { deleteOneTimeTokens, findOneTimeToken, type MemoryStore, revokeTokens } from './store.ts'

/** Customers in the memory of this process. */
export function memoryCustomers(memory: MemoryStore): Customers {
  const { customers, tokens } = memory
  return {
    async findByEmail(email) {
      return withEmail(email) ?? null
    },

    async findById(id) {
      const owner = [...tokens.values()].find((token) => token.id === id)?.customerId
      return (customers.get(id) ?? customers.get(owner ?? ''))?.customer ?? null
    },

    async add(credentials) {
      return addOne(credentials)
    },

    async addMany(credentials) {
      for (const { customer } of credentials) refuseOtherWithId(customer)
      return credentials.map(addOne)
    },

    async list({ afterEmail, limit }) {
      return [...customers.values()]
        .map(({ customer }) => customer)
        .filter(({ email }) => afterEmail === null || byteOrder(email, afterEmail) > 0)
        .sort((a, b) => byteOrder(a.email, b.email))
        .slice(0, limit)
    },

    async setPasswordHash(id, passwordHash, atMs) {
      return changeAndRevoke(id, atMs, ({ customer }) => ({ customer, passwordHash }))
    },

    async changePassword({ customerId, verifiedHash, passwordHash, keepTokenId, atMs }) {
      const found = customers.get(customerId)
      const isKept = [...tokens.values()].some(
        (token) => token.id === keepTokenId && token.customerId === customerId && token.revokedAtMs === null,
      )
      if (found?.passwordHash !== verifiedHash || found.customer.disabledAtMs !== null || !isKept) return null
      store({ ...found, passwordHash })
      deleteOneTimeTokens(memory, customerId)
      return revokeTokens(
        memory,
        (token) => token.customerId === customerId && token.id !== keepTokenId,
        atMs,
      )
    },

    async resetPassword(reset) {
      const { customerId, passwordHash, atMs } = reset
      if (customers.get(customerId)?.customer.disabledAtMs !== null) return null
      if (findOneTimeToken(memory, reset)?.customerId !== customerId) return null
      return changeAndRevoke(customerId, atMs, ({ customer }) => ({ customer, passwordHash }))
    },

    async rehash(id, from, to) {
      const found = customers.get(id)
      if (found?.passwordHash !== from) return false
      store({ ...found, passwordHash: to })
      return true
    },

    async disable(id, atMs) {
      return changeAndRevoke(id, atMs, ({ customer, passwordHash }) => ({
        customer: { ...customer, disabledAtMs: customer.disabledAtMs ?? atMs },
        passwordHash,
      }))
    },

    async enable(id) {
      const found = customers.get(id)
      if (found === undefined) return false
      store({ ...found, customer: { ...found.customer, disabledAtMs: null } })
      return true
    },

    async delete(id) {
      for (const [digest, token] of tokens) if (token.customerId === id) tokens.delete(digest)
      deleteOneTimeTokens(memory, id)
      return customers.delete(id)
    },
  }

  function withEmail(email: string): CustomerCredentials | undefined {
    const folded = foldedEmail(email)
    return [...customers.values()].find(({ customer }) => foldedEmail(customer.email) === folded)
  }

  function addOne({ customer, passwordHash }: CustomerCredentials): boolean {
    if (withEmail(customer.email) !== undefined) return false
    refuseOtherWithId(customer)
    store({ customer: { ...customer }, passwordHash })
    return true
  }

  function refuseOtherWithId({ id, email }: Customer): void {
    if (customers.has(id) && withEmail(email) === undefined)
      throw new Error('A customer with this id exists.')
  }

  function store({ customer, passwordHash }: CustomerCredentials): void {
    const frozen: Customer = Object.freeze(customer)
    customers.set(customer.id, Object.freeze({ customer: frozen, passwordHash }))
  }

  function changeAndRevoke(
    id: string,
    atMs: number,
    change: (before: CustomerCredentials) => CustomerCredentials,
  ): number | null {
    const found = customers.get(id)
    if (found === undefined) return null
    store(change(found))
    deleteOneTimeTokens(memory, id)
    return revokeTokens(memory, ({ customerId }) => customerId === id, atMs)
  }
}

/**
 * Compares two folded e-mails by their UTF-8 bytes, as PostgreSQL does with the collation "C". JavaScript would compare
 * UTF-16 units.
 */
export function byteOrder(a: string, b: string): number {
  return Buffer.compare(Buffer.from(foldedEmail(a)), Buffer.from(foldedEmail(b)))
}
