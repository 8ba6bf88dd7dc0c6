import { isoTime } from '../../../application/use-cases/me.ts'
import type { Customer } from '../../../domain/customer.ts'
import { type LoginToken, tokenState } from '../../../domain/login-token.ts'

/** So many of a customer's tokens are shown. */
const MOST = 200

/** A customer as an operator is told of one. */
export function customerDetails({ id, email, name, createdAtMs, disabledAtMs }: Customer) {
  return { id, email, name, created_at: isoTime(createdAtMs), disabled_at: timeOrNull(disabledAtMs) }
}

/** The tokens, those that are active first, and how many more there are; never a secret, nor its digest. */
export function tokenDetails(tokens: readonly LoginToken[], nowMs: number) {
  const isActive = (token: LoginToken) => tokenState(token, nowMs) === 'active'
  const sorted = [...tokens.filter(isActive), ...tokens.filter((token) => !isActive(token))]
  return {
    tokens: sorted.slice(0, MOST).map((token) => ({
      id: token.id,
      name: token.name,
      abilities: token.abilities,
      state: tokenState(token, nowMs),
      created_at: isoTime(token.createdAtMs),
      last_used_at: timeOrNull(token.lastUsedAtMs),
      expires_at: timeOrNull(token.expiresAtMs),
    })),
    more: Math.max(0, sorted.length - MOST),
  }
}

function timeOrNull(atMs: number | null): string | null {
  return atMs === null ? null : isoTime(atMs)
}
