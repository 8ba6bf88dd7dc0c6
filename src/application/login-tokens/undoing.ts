import { Unavailable } from '../../domain/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { methods } from '../../lib/methods.ts'
import type { LoginTokens } from '../ports/login-tokens.ts'

/** A transaction that began before a login failed has ended after this time, with a margin. */
const MAX_TRANSACTION_MS = 10_000
const PAUSE_MS = 1000
const TIMEOUT_MS = 1000
const MAX_PENDING = 10_000

/** A login whose outcome is unknown. */
interface UnknownLogin {
  readonly id: string
  readonly customerId: string
  readonly failedAtMs: number
}

/** Login tokens that revoke what failed logins left behind, until they are closed. */
export interface UndoingLoginTokens {
  readonly loginTokens: LoginTokens
  close(): void
}

/**
 * Revokes the token of each login whose outcome is unknown, once the store responds: no client has it, and it would occupy a
 * slot. The revocation is repeated until no transaction of the login can still commit. When too many wait, the oldest are
 * dropped: their tokens stay until they expire. `stored` revokes without a wait for other instances, because no
 * client has the tokens.
 */
export function undoUnknownLogins(inner: LoginTokens, stored: LoginTokens, clock: Clock): UndoingLoginTokens {
  const pending = new Map<string, UnknownLogin>()
  let cancel: (() => void) | null = null
  let isClosed = false

  return {
    loginTokens: {
      ...methods(inner),
      async replace(login, timeoutMs) {
        try {
          return await inner.replace(login, timeoutMs)
        } catch (error) {
          if (error instanceof Unavailable) undo(login.token)
          throw error
        }
      },
    },
    close() {
      isClosed = true
      cancel?.()
    },
  }

  function undo({ id, customerId }: Pick<UnknownLogin, 'id' | 'customerId'>): void {
    if (pending.size >= MAX_PENDING) pending.delete(pending.keys().next().value as string)
    pending.set(id, { id, customerId, failedAtMs: clock.monotonicMs() })
    if (cancel === null) startTimer()
  }

  function startTimer(): void {
    if (isClosed) return
    cancel = clock.after(PAUSE_MS, async () => {
      for (const login of [...pending.values()]) if (isClosed || !(await isHandled(login))) break
      cancel = null
      if (pending.size > 0) startTimer()
    })
  }

  /** Returns false when the store does not respond, so that the others wait, too. */
  async function isHandled({ id, customerId, failedAtMs }: UnknownLogin): Promise<boolean> {
    const isLast = clock.monotonicMs() - failedAtMs > MAX_TRANSACTION_MS
    try {
      const revoked = await stored.revokeByCustomer(customerId, { id }, clock.nowMs(), TIMEOUT_MS)
      if (revoked > 0 || isLast) pending.delete(id)
      return true
    } catch {
      return false
    }
  }
}
