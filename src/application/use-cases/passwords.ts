import { type Customer, foldedEmail } from '../../domain/customer.ts'
import { InvalidToken } from '../../domain/errors.ts'
import type { Deadline } from '../deadline.ts'
import { audited } from '../login/audited.ts'
import type { Decision, PasswordRequest } from '../login/login-step.ts'
import { withAccountSlot, withHashingCapacity, withHashingSlot } from '../login/slots.ts'
import { throttled } from '../login/throttled.ts'
import { verifyPassword } from '../login/verify-password.ts'
import { type PasswordRules, requireNewPassword } from '../management/hash-new-password.ts'
import type { HashingSlot } from '../ports/password-hasher.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields } from '../requester.ts'
import type { Caller } from './authenticate.ts'
import type { LoginSettings } from './login.ts'
import type { ManageOneTimeTokens } from './one-time-tokens.ts'
import { createResetPassword, type ResetPassword } from './reset-password.ts'
import { requireLoginToken } from './sessions.ts'

/** What customers may do with their own passwords. */
export interface Passwords {
  /**
   * Sets a new password and revokes all tokens of the caller but the current one; returns their number, once no instance
   * accepts them. Throws `LoginTokenRequired` for a named token, `ValidationFailed` for a new password that is not allowed,
   * `InvalidCredentials` for a wrong current one, which counts as a failed login, `TooManyLogins` after too many, and
   * `InvalidToken` when the current token was revoked meanwhile.
   */
  change(
    caller: Caller,
    passwords: { readonly currentPassword: string; readonly newPassword: string },
    deadline: Deadline,
    requester: Requester,
  ): Promise<number>
  readonly reset: ResetPassword
}

/** The settings of passwords. */
export interface PasswordSettings extends Pick<LoginSettings, 'loginLimitAccount'>, PasswordRules {
  /** Called after a customer changed or reset the password. Must neither throw nor wait. Default: no call. */
  readonly onPasswordChange?: ((customer: Customer) => void) | undefined
}

interface ChangeRequest extends PasswordRequest {
  readonly caller: Caller
  readonly newPassword: string
}

const MAX_ATTEMPTS = 3

/** A change passes the same steps as a login: it guesses a password, too. */
export function createPasswords(
  ports: Pick<Ports, 'customers' | 'passwords' | 'blocklist' | 'throttle' | 'secrets' | 'clock' | 'audit'>,
  oneTimeTokens: ManageOneTimeTokens,
  settings: PasswordSettings,
): Passwords {
  const { customers, passwords, throttle, clock, audit } = ports
  const admitted = throttled(throttle, clock, withHashingSlot(passwords, exchange))
  const run = withAccountSlot(
    settings.loginLimitAccount,
    clock,
    audited(audit, withHashingCapacity(passwords, admitted)),
  )

  return {
    async change(caller, { currentPassword, newPassword }, deadline, requester) {
      requireLoginToken(caller)
      const { customer } = caller
      await requireNewPassword(ports, { field: 'new_password', password: newPassword, customer }, settings)
      const attempt = { account: foldedEmail(customer.email), address: requester.address }
      const revoked = await run({
        attempt,
        password: currentPassword,
        newPassword,
        caller,
        deadline,
        requester,
      })
      settings.onPasswordChange?.(customer)
      return revoked
    },

    reset: createResetPassword(ports, oneTimeTokens, settings),
  }

  async function exchange(request: ChangeRequest, slot: HashingSlot): Promise<Decision<number>> {
    const { caller, password, newPassword, deadline, requester, attempt } = request
    const { id } = caller.customer
    let passwordHash: string | null = null
    // When the hash changed during the verification, it is repeated.
    for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts++) {
      const found = await deadline.run((timeoutMs) => customers.findByEmail(attempt.account, timeoutMs))
      const verifiedHash = await verifyPassword(password, found, slot)
      if (verifiedHash === null || found?.customer.id !== id)
        return { kind: 'refused', customerId: id, reason: 'current_password' }
      passwordHash ??= await slot.hash(newPassword)
      const change = { customerId: id, verifiedHash, passwordHash, keepTokenId: caller.token.id }
      const revoked = await deadline.run((timeoutMs) =>
        customers.changePassword({ ...change, atMs: clock.nowMs() }, timeoutMs),
      )
      if (revoked === null) continue
      const fields = { ...requesterFields(requester), customerId: id }
      audit.record('customer.password_changed', fields)
      if (revoked > 0) audit.record('token.revoked', { ...fields, reason: 'password_set', count: revoked })
      return { kind: 'accepted', result: revoked }
    }
    throw new InvalidToken()
  }
}
