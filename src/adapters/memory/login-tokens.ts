import type { LoginTokens } from '../../application/ports/login-tokens.ts'
import { type Digest, LOGIN_TOKEN_NAME, type LoginToken, tokenState } from '../../domain/login-token.ts'
import { replaceAll } from '../../domain/session.ts'
import { type MemoryStore, revokeTokens } from './store.ts'
import { selectByCustomer, selectPage } from './token-lists.ts'

/** Tokens in the memory of this process. */
export function memoryLoginTokens(memory: MemoryStore): LoginTokens {
  const { customers, tokens } = memory
  /** The slots of login tokens, by id; 1 for others. */
  const slots = new Map<string, number>()
  return {
    async findByDigest(digest) {
      const token = tokens.get(digest)
      const owner = token && customers.get(token.customerId)
      if (token === undefined || owner === undefined) return null
      return Object.freeze({
        token: Object.freeze({ ...token, device: null }),
        customer: owner.customer,
      })
    },

    listByCustomer: async (customerId) => selectByCustomer(memory, customerId),

    listSessions: async (customerId) => selectByCustomer(memory, customerId).filter(isSession),

    list: async (page) => selectPage(memory, page),

    async replace({ token, digest, verifiedHash, admit = replaceAll }) {
      const owner = customers.get(token.customerId)
      if (owner?.passwordHash !== verifiedHash || owner.customer.disabledAtMs !== null) return null
      refuseTaken(token, digest)
      const sessions = selectByCustomer(memory, token.customerId).filter(isSession)
      const admission = admit(sessions.map((held) => ({ ...held, slot: slots.get(held.id) ?? 1 })))
      if (admission === 'full') return 'full'
      const moves = new Map(admission.moved.map(({ id, slot }) => [id, slot]))
      const remaining = sessions.filter(({ id }) => !admission.revoked.includes(id))
      if (remaining.some(({ id }) => (moves.get(id) ?? slots.get(id) ?? 1) === admission.slot))
        throw new Error('Another login token has this slot.')
      const revoked = new Set(admission.revoked)
      const count = revokeTokens(memory, ({ id }) => revoked.has(id), token.createdAtMs)
      for (const id of revoked) slots.delete(id)
      for (const { id, slot } of [...admission.moved, { id: token.id, slot: admission.slot }])
        slots.set(id, slot)
      store(token, digest)
      return count
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

    async revokeByCustomer(customerId, { name, id, exceptId }, atMs) {
      return revokeTokens(
        memory,
        (token) =>
          token.customerId === customerId &&
          (name === undefined || token.name === name) &&
          (id === undefined || token.id === id) &&
          token.id !== exceptId,
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
      const usedAtMs = new Map<string, { readonly atMs: number; readonly minAdvanceMs: number }>()
      for (const { id, atMs, minAdvanceMs = 1 } of uses) {
        if (atMs >= (usedAtMs.get(id)?.atMs ?? -Infinity)) usedAtMs.set(id, { atMs, minAdvanceMs })
      }
      for (const [digest, token] of tokens) {
        const use = usedAtMs.get(token.id)
        if (use !== undefined && use.atMs - use.minAdvanceMs >= (token.lastUsedAtMs ?? -Infinity))
          tokens.set(digest, Object.freeze({ ...token, lastUsedAtMs: use.atMs }))
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

    async revokeIdle({ unusedSinceMs, atMs }) {
      const isIdle = (token: LoginToken) =>
        isSession(token) && Math.max(token.createdAtMs, token.lastUsedAtMs ?? 0) < unusedSinceMs
      return { revoked: revokeTokens(memory, isIdle, atMs), end: null }
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

function isSession({ name, revokedAtMs }: LoginToken): boolean {
  return name === LOGIN_TOKEN_NAME && revokedAtMs === null
}
