import { LOGIN_TOKEN_NAME } from '../../domain/login-token.ts'
import { type Admission, admitSession, type HeldSession } from '../../domain/session.ts'
import { createIdleCheck } from '../login-tokens/idle-expiry.ts'
import type { TokenUsage } from '../ports/token-usage.ts'

/** The settings of sessions. */
export interface SessionSettings {
  /** The login tokens that a customer may hold at once. Default: 1. */
  readonly loginSessions?: number
  /** What a login does at that limit. Default: `replace`. */
  readonly loginSessionsFull?: 'replace' | 'refuse'
  /** How long a login token lasts without a use, in milliseconds. Default: null, for ever. */
  readonly tokenIdleTtlMs?: number | null
}

/** Whether each login ends every other session of its customer, which needs no decision. */
export function isSingleSession({
  loginSessions = 1,
  loginSessionsFull = 'replace',
}: SessionSettings): boolean {
  return loginSessions === 1 && loginSessionsFull === 'replace'
}

/** Returns the decision on a new session; undefined where each replaces all others. */
export function createAdmit(
  settings: SessionSettings,
  usage: TokenUsage,
): ((held: readonly HeldSession[], nowMs: number) => Admission | 'full') | undefined {
  if (isSingleSession(settings)) return undefined
  const { loginSessions: max = 1, loginSessionsFull: whenFull = 'replace', tokenIdleTtlMs = null } = settings
  const isIdle = createIdleCheck(tokenIdleTtlMs, usage)
  return function admit(held, nowMs) {
    return admitSession(
      held,
      { max, whenFull },
      (session) =>
        (session.expiresAtMs !== null && session.expiresAtMs <= nowMs) ||
        isIdle({ ...session, name: LOGIN_TOKEN_NAME }, nowMs),
    )
  }
}
