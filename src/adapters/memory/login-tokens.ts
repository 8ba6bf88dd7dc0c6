import type { LoginTokens } from '../../application/ports.ts'
import { type Digest, LOGIN_TOKEN_NAME, type LoginToken, tokenState } from '../../domain/login-token.ts'
import { type MemoryStore, revokeTokens } from './store.ts'

/** Tokens in a store of this process; what is stored is gone when the process ends. */
export function memoryLoginTokens(store: MemoryStore): LoginTokens {
  const { customers, tokens } = store
  return {
    async findByDigest(digest) {
      const token = tokens.get(digest)
      const owner = token && customers.get(token.customerId)
      return token && owner ? Object.freeze({ token, customer: owner.customer }) : null
    },

    async listOf(customerId) {
      return [...tokens.values()].filter((token) => token.customerId === customerId).sort(newestFirst)
    },

    async replace({ token, digest, verifiedHash }) {
      const owner = customers.get(token.customerId)
      if (owner?.passwordHash !== verifiedHash || owner.customer.disabledAtMs !== null) return null
      refuseTaken(token, digest)
      const revoked = revokeTokens(
        store,
        ({ customerId, name }) => customerId === token.customerId && name === LOGIN_TOKEN_NAME,
        token.createdAtMs,
      )
      keep(token, digest)
      return revoked
    },

    async add(token, digest) {
      const owner = customers.get(token.customerId)
      if (owner === undefined || owner.customer.disabledAtMs !== null) return false
      refuseTaken(token, digest)
      keep(token, digest)
      return true
    },

    async revoke({ id }, atMs) {
      return (
        revokeTokens(store, (token) => token.id === id && tokenState(token, atMs) === 'active', atMs) === 1
      )
    },
  }

  function refuseTaken({ id }: LoginToken, digest: Digest): void {
    if (tokens.has(digest)) throw new Error('A token with this digest exists.')
    if ([...tokens.values()].some((token) => token.id === id)) throw new Error('A token with this id exists.')
  }

  function keep(token: LoginToken, digest: Digest): void {
    tokens.set(digest, Object.freeze({ ...token, abilities: Object.freeze([...token.abilities]) }))
  }
}

function newestFirst(a: LoginToken, b: LoginToken): number {
  return b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1)
}
