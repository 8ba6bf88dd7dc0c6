import type { OneTimeToken, OneTimeTokens } from '../../application/ports/one-time-tokens.ts'
import type { Customer } from '../../domain/customer.ts'
import { findOneTimeToken, type MemoryStore } from './store.ts'

/** One-time tokens in the memory of this process. */
export function memoryOneTimeTokens(memory: MemoryStore): OneTimeTokens {
  const { customers, oneTimeTokens } = memory
  return {
    async add(token) {
      if (enabled(token.customerId) === null) return false
      oneTimeTokens.set(toKey(token), Object.freeze({ ...token }))
      return true
    },

    async find(presented) {
      const token = findOneTimeToken(memory, presented)
      return token === undefined ? null : enabled(token.customerId)
    },

    async use(presented) {
      const token = findOneTimeToken(memory, presented)
      if (token === undefined) return null
      oneTimeTokens.delete(toKey(token))
      return enabled(token.customerId)
    },
  }

  function enabled(id: string): Customer | null {
    const customer = customers.get(id)?.customer
    return customer === undefined || customer.disabledAtMs !== null ? null : customer
  }
}

function toKey({ customerId, purpose }: Pick<OneTimeToken, 'customerId' | 'purpose'>): string {
  return `${customerId} ${purpose}`
}
