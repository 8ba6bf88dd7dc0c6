import type { LoginTokens, TokenPage } from '../../application/ports/login-tokens.ts'
import { type Digest, LOGIN_TOKEN_NAME, type LoginToken, tokenState } from '../../domain/login-token.ts'
import { byteOrder } from './customers.ts'
import { type MemoryStore, revokeTokens } from './store.ts'

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

    async listByCustomer(customerId) {
      return [...tokens.values()].filter((token) => token.customerId === customerId).sort(newestFirst)
    },

    async list({ after, limit }) {
      const from: Position | null = after === null ? null : JSON.parse(after)
      const rest = [...tokens.values()]
        .map((token) => ({ token, ownerEmail: ownerEmail(token) }))
        .filter((listed) => from === null || byOwner(toPosition(listed), from) > 0)
        .toSorted((a, b) => byOwner(toPosition(a), toPosition(b)))
      const page = rest.slice(0, limit)
      const last = page.at(-1)
      return {
        tokens: page,
        end: last === undefined || rest.length <= limit ? null : JSON.stringify(toPosition(last)),
      }
    },

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

  function ownerEmail({ customerId }: LoginToken): string {
    return customers.get(customerId)?.customer.email ?? ''
  }

  function refuseTaken({ id }: LoginToken, digest: Digest): void {
    if (tokens.has(digest)) throw new Error('A token with this digest exists.')
    if ([...tokens.values()].some((token) => token.id === id)) throw new Error('A token with this id exists.')
  }

  function store(token: LoginToken, digest: Digest): void {
    tokens.set(digest, Object.freeze({ ...token, abilities: Object.freeze([...token.abilities]) }))
  }
}

/** The position of a token in the list of all tokens, even if it was deleted. */
interface Position extends Pick<LoginToken, 'id' | 'createdAtMs'> {
  readonly ownerEmail: string
}

function toPosition({ token: { id, createdAtMs }, ownerEmail }: TokenPage['tokens'][number]): Position {
  return { ownerEmail, createdAtMs, id }
}

function byOwner(a: Position, b: Position): number {
  return byteOrder(a.ownerEmail, b.ownerEmail) || newestFirst(a, b)
}

function newestFirst(a: Omit<Position, 'ownerEmail'>, b: Omit<Position, 'ownerEmail'>): number {
  return b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1)
}
