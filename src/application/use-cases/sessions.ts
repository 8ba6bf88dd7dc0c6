import { LoginTokenRequired } from '../../domain/errors.ts'
import { LOGIN_TOKEN_NAME, type LoginToken, type OwnedToken, tokenState } from '../../domain/login-token.ts'
import type { AuditReason } from '../audit-events.ts'
import type { Deadline } from '../deadline.ts'
import { createIdleCheck } from '../login-tokens/idle-expiry.ts'
import type { TokenChoice } from '../ports/login-tokens.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields } from '../requester.ts'

/**
 * What customers may do with their own sessions, which are their login tokens. The methods with a caller throw
 * `LoginTokenRequired` for a named token. Those that end sessions resolve once no instance accepts the tokens.
 */
export interface Sessions {
  /** Returns the active sessions of the caller, newest first. */
  list(caller: OwnedToken, deadline: Deadline): Promise<readonly LoginToken[]>
  /** Ends one session of the caller. Returns false when it is not the caller's or no longer active. */
  end(caller: OwnedToken, id: string, deadline: Deadline, requester: Requester): Promise<boolean>
  /** Ends all sessions of the caller, or all but the current one; returns their number. */
  endAll(
    caller: OwnedToken,
    options: { readonly exceptCurrent: boolean },
    deadline: Deadline,
    requester: Requester,
  ): Promise<number>
  /** Returns the active sessions of any customer, newest first; for operators. */
  listByCustomer(customerId: string, deadline: Deadline): Promise<readonly LoginToken[]>
}

export function createSessions(
  {
    loginTokens,
    invalidations,
    usage,
    clock,
    audit,
  }: Pick<Ports, 'loginTokens' | 'invalidations' | 'usage' | 'clock' | 'audit'>,
  tokenIdleTtlMs: number | null,
): Sessions {
  const isIdle = createIdleCheck(tokenIdleTtlMs, usage)
  return {
    async list(caller, deadline) {
      requireLoginToken(caller)
      return listActive(caller.customer.id, deadline)
    },

    async end(caller, id, deadline, requester) {
      requireLoginToken(caller)
      const customerId = caller.customer.id
      const isActive = (await listActive(customerId, deadline)).some((session) => session.id === id)
      if (isActive) return (await revoke(caller, { id }, deadline, requester)) > 0
      // The response says that the token is revoked, and another instance may still be waiting.
      await invalidations.publish({ kind: 'customer', customerId })
      return false
    },

    async endAll(caller, { exceptCurrent }, deadline, requester) {
      requireLoginToken(caller)
      const except = exceptCurrent ? { exceptId: caller.token.id } : {}
      return revoke(caller, { name: LOGIN_TOKEN_NAME, ...except }, deadline, requester)
    },

    listByCustomer: listActive,
  }

  async function listActive(customerId: string, deadline: Deadline): Promise<readonly LoginToken[]> {
    const held = await deadline.run((timeoutMs) => loginTokens.listSessions(customerId, timeoutMs))
    const nowMs = clock.nowMs()
    return held
      .filter((session) => tokenState(session, nowMs) === 'active' && !isIdle(session, nowMs))
      .map((session) => ({ ...session, lastUsedAtMs: lastUseMs(session) }))
  }

  function lastUseMs({ id, lastUsedAtMs }: LoginToken): number | null {
    const known = usage.lastUseMs?.(id) ?? null
    return known === null ? lastUsedAtMs : Math.max(known, lastUsedAtMs ?? known)
  }

  async function revoke(
    { customer }: OwnedToken,
    chosen: TokenChoice,
    deadline: Deadline,
    requester: Requester,
  ): Promise<number> {
    const count = await deadline.run((timeoutMs) =>
      loginTokens.revokeByCustomer(customer.id, chosen, clock.nowMs(), timeoutMs),
    )
    const reason: AuditReason<'token.revoked'> = 'session'
    if (count > 0) {
      audit.record('token.revoked', {
        ...requesterFields(requester),
        customerId: customer.id,
        ...(chosen.id !== undefined && { tokenId: chosen.id }),
        reason,
        count,
      })
    }
    return count
  }
}

/** Throws `LoginTokenRequired` for a named token. */
export function requireLoginToken({ token }: OwnedToken): void {
  if (token.name !== LOGIN_TOKEN_NAME) throw new LoginTokenRequired()
}
