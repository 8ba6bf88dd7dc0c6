import type {
  OneTimeToken,
  OneTimeTokens,
  PresentedOneTimeToken,
} from '../../application/ports/one-time-tokens.ts'
import type { Customer } from '../../domain/customer.ts'
import type { MemoryStore } from './store.ts'

/** One-time tokens in the memory of this process. */
export function memoryOneTimeTokens({ customers, oneTimeTokens }: MemoryStore): OneTimeTokens {
  return {
    async add(token) {
      if (enabled(token.customerId) === null) return false
      oneTimeTokens.set(toKey(token), Object.freeze({ ...token }))
      return true
    },

    async find(presented) {
      const token = valid(presented)
      return token === undefined ? null : enabled(token.customerId)
    },

    async use(presented) {
      const token = valid(presented)
      if (token === undefined) return null
      oneTimeTokens.delete(toKey(token))
      return enabled(token.customerId)
    },
  }

  function valid({ digest, purpose, atMs }: PresentedOneTimeToken): OneTimeToken | undefined {
    return [...oneTimeTokens.values()].find(
      (token) => token.digest === digest && token.purpose === purpose && token.expiresAtMs > atMs,
    )
  }

  function enabled(id: string): Customer | null {
    const customer = customers.get(id)?.customer
    return customer === undefined || customer.disabledAtMs !== null ? null : customer
  }
}

function toKey({ customerId, purpose }: Pick<OneTimeToken, 'customerId' | 'purpose'>): string {
  return `${customerId} ${purpose}`
}
