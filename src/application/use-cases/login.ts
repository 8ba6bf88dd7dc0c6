import { foldedEmail } from '../../domain/customer.ts'
import type { LoginLimit } from '../../domain/login-limit.ts'
import type { Deadline } from '../deadline.ts'
import { createAdmit, type SessionSettings } from '../login/admit-login.ts'
import { audited } from '../login/audited.ts'
import { createExchangeCredentials, type ExchangePorts } from '../login/exchange-credentials.ts'
import type { LoggedIn } from '../login/login-step.ts'
import { withAccountSlot, withHashingCapacity, withHashingSlot } from '../login/slots.ts'
import { throttled } from '../login/throttled.ts'
import type { Ports } from '../ports/ports.ts'
import type { Requester } from '../requester.ts'

/**
 * Exchanges e-mail and password for a new login token and revokes earlier ones beyond the limit of sessions. `device` is a
 * label of the client. Throws `InvalidCredentials` when they do not match, `TooManyLogins` after too many failures,
 * `TooManySessions` at a limit that refuses, and `Unavailable` when the queue for password hashing is full
 * or a store does not respond in time. The empty password is never accepted, whatever hash is stored.
 */
export type Login = (
  credentials: { readonly email: string; readonly password: string; readonly device?: string | undefined },
  deadline: Deadline,
  requester: Requester,
) => Promise<LoggedIn>

/** The settings of a login. */
export interface LoginSettings extends SessionSettings {
  /** Lifetime of a login token in milliseconds; null for tokens that never expire. */
  readonly tokenTtlMs: number | null
  /** Limit of failed logins by account and address together; null for no limit. */
  readonly loginLimitAccount: LoginLimit | null
}

/**
 * A login passes these steps, in this order: wait for a slot of its account and address; record the outcome in the audit
 * log; refuse when the hashing queue is full; reserve an attempt of the throttle; wait for a hashing slot; exchange the
 * credentials, that is find, verify and replace.
 */
export function createLogin(
  ports: ExchangePorts & Pick<Ports, 'throttle' | 'usage'>,
  settings: LoginSettings,
): Login {
  const { passwords, throttle, audit, clock } = ports
  const { tokenTtlMs, loginLimitAccount } = settings
  const admit = createAdmit(settings, ports.usage)
  const exchangeCredentials = createExchangeCredentials(ports, { tokenTtlMs, admit })
  // The hashing slot is acquired after admission: logins that wait for the throttle must not occupy the queue.
  const admitted = throttled(throttle, clock, withHashingSlot(passwords, exchangeCredentials))
  const run = withAccountSlot(
    loginLimitAccount,
    clock,
    audited(audit, withHashingCapacity(passwords, admitted)),
  )

  return function login({ email, password, device }, deadline, requester) {
    const attempt = { account: foldedEmail(email), address: requester.address }
    return run({ attempt, password, device: device ?? null, deadline, requester })
  }
}
