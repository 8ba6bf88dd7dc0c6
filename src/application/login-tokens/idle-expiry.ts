import { LOGIN_TOKEN_NAME, type LoginToken } from '../../domain/login-token.ts'
import { idleEndMs } from '../../domain/session.ts'
import type { TokenUsage } from '../ports/token-usage.ts'

/** Whether a login token has expired at `nowMs` because it was not used, as far as this process knows. */
export type IsIdle = (
  token: Pick<LoginToken, 'id' | 'name' | 'createdAtMs' | 'lastUsedAtMs'>,
  nowMs: number,
) => boolean

/** Returns the check of `TOKEN_IDLE_TTL`; with null, no token is ever idle. Uses that wait to be written count. */
export function createIdleCheck(idleTtlMs: number | null, usage: TokenUsage): IsIdle {
  if (idleTtlMs === null) return () => false
  return function isIdle(token, nowMs) {
    // The stored use suffices for most tokens.
    if (token.name !== LOGIN_TOKEN_NAME || nowMs < idleEndMs(token, idleTtlMs, null)) return false
    return nowMs >= idleEndMs(token, idleTtlMs, usage.lastUseMs?.(token.id) ?? null)
  }
}
