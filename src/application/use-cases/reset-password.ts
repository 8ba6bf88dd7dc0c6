import { type Customer, foldedEmail } from '../../domain/customer.ts'
import { Unavailable } from '../../domain/errors.ts'
import type { Deadline } from '../deadline.ts'
import { type PasswordRules, requireNewPassword } from '../management/hash-new-password.ts'
import type { Ports } from '../ports/ports.ts'
import { type RequestOrigin, requesterFields } from '../requester.ts'
import type { ManageOneTimeTokens, PresentedSecret } from './one-time-tokens.ts'

/**
 * Sets a new password with a one-time token, revokes all tokens of the customer and forgets the failed logins of the account. Returns
 * the customer once no instance accepts the tokens, or null when the one-time token is unknown, used, expired or of another
 * purpose. Throws `ValidationFailed` for a new password that is not allowed; the one-time token then stays valid.
 */
export type ResetPassword = (
  reset: PresentedSecret & { readonly newPassword: string },
  deadline: Deadline,
  requestedBy: RequestOrigin,
) => Promise<Customer | null>

export function createResetPassword(
  ports: Pick<Ports, 'customers' | 'passwords' | 'blocklist' | 'throttle' | 'clock' | 'audit'>,
  oneTimeTokens: ManageOneTimeTokens,
  rules: PasswordRules & { readonly onPasswordChange?: ((customer: Customer) => void) | undefined },
): ResetPassword {
  const { customers, passwords, throttle, clock, audit } = ports
  return async function resetPassword({ newPassword, ...presented }, deadline, requestedBy) {
    const found = await oneTimeTokens.find(presented, deadline, requestedBy)
    if (found === null) return null
    await requireNewPassword(ports, { field: 'new_password', password: newPassword, customer: found }, rules)
    // Only for the holder of a token, since it takes long.
    const passwordHash = await passwords.hash(newPassword)
    const customer = await oneTimeTokens.use(presented, deadline, requestedBy)
    if (customer === null) return null
    const { id, email } = customer
    const revoked = await deadline.run((timeoutMs) =>
      customers.setPasswordHash(id, passwordHash, clock.nowMs(), timeoutMs),
    )
    if (revoked === null) return null
    const fields = { ...requesterFields(requestedBy), customerId: id }
    audit.record('customer.password_reset', fields)
    if (revoked > 0) audit.record('token.revoked', { ...fields, reason: 'password_set', count: revoked })
    await forgetFailures(foldedEmail(email), deadline)
    rules.onPasswordChange?.(customer)
    return customer
  }

  /** The password is set: whether the throttle responds no longer matters. */
  async function forgetFailures(account: string, deadline: Deadline): Promise<void> {
    try {
      await deadline.run((timeoutMs) => throttle.forget(account, timeoutMs))
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
    }
  }
}
