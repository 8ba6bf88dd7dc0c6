import type { LoginTokens } from '../../application/ports/login-tokens.ts'
import { type Digest, LOGIN_TOKEN_NAME, type LoginToken, tokenState } from '../../domain/login-token.ts'
import { type MemoryStore, revokeTokens } from './store.ts'
import { selectByCustomer, selectPage } from './token-lists.ts'

/** Tokens in the memory of this process. */
export function memoryLoginTokens(memory: MemoryStore): LoginTokens {
  const { customers, tokens } = memory
  return {
    async findByDigest(digest) {
      const token = tokens.get(digest)
      const owner = token && customers.get(token.customerId)
      if (token === undefined || owner === undefined) return null
      return Object.freeze({
        token: Object.freeze({ ...token, lastUsedAtMs: null }),
        customer: owner.customer,
      })
    },

    listByCustomer: async (customerId) => selectByCustomer(memory, customerId),

    list: async (page) => selectPage(memory, page),

    async replace({ token, digest, verifiedHash }) {
      const owner = customers.get(token.customerId)
      if (owner?.passwordHash !== verifiedHash || owner.customer.disabledAtMs !== null) return null
      refuseTaken(token, digest)
      const revoked = revokeTokens(
        memory,
        ({ customerId, name }) => customerId === token.customerId && name === LOGIN_TOKEN_NAME,
        token.createdAtMs,
      )
      store(token, digest)
      return revoked
    },

    async add(token, digest) {
      const owner = customers.get(token.customerId)
      if (owner === undefined || owner.customer.disabledAtMs !== null) return false
      refuseTaken(token, digest)
      store(token, digest)
      return true
    },

    async revoke({ id }, atMs) {
      return (
        revokeTokens(memory, (token) => token.id === id && tokenState(token, atMs) === 'active', atMs) === 1
      )
    },

    async revokeByCustomer(customerId, { name, id }, atMs) {
      return revokeTokens(
        memory,
        (token) =>
          token.customerId === customerId &&
          (name === undefined || token.name === name) &&
          (id === undefined || token.id === id),
        atMs,
      )
    },

    async revokeIssuedBefore(beforeMs, atMs, { onStep, signal }) {
      if (signal?.aborted) throw signal.reason
      const revoked = revokeTokens(memory, ({ createdAtMs }) => createdAtMs < beforeMs, atMs)
      onStep?.(revoked)
      return revoked
    },

    async touch(uses) {
      const usedAtMs = new Map<string, number>()
      for (const { id, atMs } of uses) usedAtMs.set(id, Math.max(atMs, usedAtMs.get(id) ?? atMs))
      for (const [digest, token] of tokens) {
        const atMs = usedAtMs.get(token.id)
        if (atMs !== undefined && atMs > (token.lastUsedAtMs ?? -Infinity))
          tokens.set(digest, Object.freeze({ ...token, lastUsedAtMs: atMs }))
      }
      return []
    },

    async prune(endedBeforeMs, limit) {
      const ended = [...tokens]
        .filter(([, { revokedAtMs, expiresAtMs }]) =>
          [revokedAtMs, expiresAtMs].some((atMs) => atMs !== null && atMs < endedBeforeMs),
        )
        .slice(0, limit)
      for (const [digest] of ended) tokens.delete(digest)
      return ended.length
    },
  }

  function refuseTaken({ id }: LoginToken, digest: Digest): void {
    if (tokens.has(digest)) throw new Error('A token with this digest exists.')
    if ([...tokens.values()].some((token) => token.id === id)) throw new Error('A token with this id exists.')
  }

  function store(token: LoginToken, digest: Digest): void {
    tokens.set(digest, Object.freeze({ ...token, abilities: Object.freeze([...token.abilities]) }))
  }
}
