import { type Customer, foldedEmail } from '../../domain/customer.ts'
import { Unavailable } from '../../domain/errors.ts'
import type { Deadline } from '../deadline.ts'
import { type PasswordRules, requireNewPassword } from '../management/hash-new-password.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields, sharedNetwork } from '../requester.ts'
import type { ManageOneTimeTokens, PresentedSecret } from './one-time-tokens.ts'

/**
 * Sets a new password with a one-time token, revokes all tokens of the customer and forgets the failed logins of the account. Returns
 * the customer once no instance accepts the tokens, or null when the one-time token is unknown, used, expired or of another
 * purpose. Throws `ValidationFailed` for a new password that is not allowed, and `Unavailable` when the hashing queue is full; the
 * one-time token then stays valid.
 */
export type ResetPassword = (
  reset: PresentedSecret & { readonly newPassword: string },
  deadline: Deadline,
  requester: Requester,
) => Promise<Customer | null>

export function createResetPassword(
  ports: Pick<Ports, 'customers' | 'passwords' | 'blocklist' | 'throttle' | 'secrets' | 'clock' | 'audit'>,
  oneTimeTokens: ManageOneTimeTokens,
  rules: PasswordRules & { readonly onPasswordChange?: ((customer: Customer) => void) | undefined },
): ResetPassword {
  const { customers, passwords, throttle, secrets, clock, audit } = ports
  return async function resetPassword({ secret, purpose, newPassword }, deadline, requester) {
    const digest = secrets.digestOf(secret)
    const customer = await oneTimeTokens.find({ secret, purpose }, deadline, requester)
    if (digest === null || customer === null) return null
    await requireNewPassword(ports, { field: 'new_password', password: newPassword, customer }, rules)
    const passwordHash = await hash(newPassword, customer, requester)
    const reset = { customerId: customer.id, purpose, digest, passwordHash }
    const revoked = await deadline.run((timeoutMs) =>
      customers.resetPassword({ ...reset, atMs: clock.nowMs() }, timeoutMs),
    )
    const who = requesterFields(requester)
    if (revoked === null) {
      audit.record('token.denied', { ...who, reason: 'one_time' })
      return null
    }
    const fields = { ...who, customerId: customer.id }
    audit.record('one_time_token.used', { ...fields, purpose })
    audit.record('customer.password_reset', fields)
    if (revoked > 0) audit.record('token.revoked', { ...fields, reason: 'password_set', count: revoked })
    await forgetFailures(foldedEmail(customer.email), deadline)
    rules.onPasswordChange?.(customer)
    return customer
  }

  /** Hashes in a slot of the queue, like a login: many resets with one token must not delay the logins of others. */
  async function hash(
    password: string,
    { email }: Customer,
    { address, signal }: Requester,
  ): Promise<string> {
    const source = sharedNetwork(address)
    const slot = passwords.queue({ source, account: foldedEmail(email), isKnown: false, signal })
    try {
      return await slot.hash(password)
    } finally {
      slot.leave()
    }
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
