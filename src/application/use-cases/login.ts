import type { Customer } from '../../domain/customer.ts'
import { foldedEmail } from '../../domain/customer.ts'
import { InvalidCredentials, TooManyRequests } from '../../domain/errors.ts'
import type { LoginLimit } from '../../domain/login-limit.ts'
import {
  expiresAt,
  LOGIN_TOKEN_ABILITIES,
  LOGIN_TOKEN_NAME,
  type LoginToken,
} from '../../domain/login-token.ts'
import type { AuditReason } from '../audit-events.ts'
import type { Deadline } from '../deadline.ts'
import { createKeyedSemaphore } from '../keyed-semaphore.ts'
import type { AuditFields } from '../ports/audit-log.ts'
import type { CustomerCredentials } from '../ports/customers.ts'
import type { HashingSlot } from '../ports/password-hasher.ts'
import type { Ports } from '../ports/ports.ts'
import { type Requester, requesterFields } from '../requester.ts'
import { withLoginThrottle } from './throttled-login.ts'

/** The result of a login. The secret is shown only once. */
export interface LoggedIn {
  readonly secret: string
  readonly token: LoginToken
}

/**
 * Exchanges e-mail and password for a new login token and revokes the earlier one. Throws `InvalidCredentials` when they
 * do not match, `TooManyRequests` after too many failures, and `Unavailable` when the queue for password hashing is full
 * or a store does not respond in time. The empty password is never accepted, whatever hash is stored.
 */
export type Login = (
  credentials: { readonly email: string; readonly password: string },
  deadline: Deadline,
  requester: Requester,
) => Promise<LoggedIn>

/** The settings of a login. */
export interface LoginSettings {
  /** Lifetime of a login token in milliseconds; null for tokens that never expire. */
  readonly tokenTtlMs: number | null
  /** Limit of failed logins by account and address together; null for no limit. */
  readonly loginLimitAccount: LoginLimit | null
}

const MAX_ATTEMPTS = 3
/** A separate timeout: the wait for other instances may have used up the request's deadline. */
const REHASH_TIMEOUT_MS = 1000

type LoginPorts = Pick<
  Ports,
  'customers' | 'loginTokens' | 'passwords' | 'throttle' | 'audit' | 'secrets' | 'clock' | 'ids'
>

export function createLogin(ports: LoginPorts, { tokenTtlMs, loginLimitAccount }: LoginSettings): Login {
  const { customers, loginTokens, passwords, throttle, audit, secrets, clock, ids } = ports
  // As many slots as the throttle has. The others wait here, where they use neither the store nor the hashing queue.
  const semaphore = createKeyedSemaphore(loginLimitAccount?.failures ?? Number.POSITIVE_INFINITY, clock)

  return async function login({ email, password }, deadline, requester) {
    const { address, signal } = requester
    const attempt = { account: foldedEmail(email), address }
    const who = requesterFields(requester)
    let failure = null as AuditFields<'login.failed'> | null
    const releaseSlot = await semaphore.acquire(`${address} ${attempt.account}`, signal)
    try {
      // Before any store is called: when the hashing queue is full, the login is refused at once.
      passwords.queue(signal).leave()
      return await withLoginThrottle(throttle, attempt, deadline, clock, signal, exchange)
    } catch (error) {
      // Recorded after it is counted, so that a guess counts even if the audit log cannot be written.
      if (error instanceof InvalidCredentials && failure !== null) audit.record('login.failed', failure)
      if (error instanceof TooManyRequests)
        audit.record('login.throttled', { ...who, reason: error.limit.name })
      throw error
    } finally {
      releaseSlot()
    }

    // The hashing slot is acquired after admission: logins that wait for the throttle must not occupy the queue.
    async function exchange(): Promise<LoggedIn> {
      const hashing = passwords.queue(signal)
      try {
        return await verifyAndReplace(hashing)
      } finally {
        hashing.leave()
      }
    }

    async function verifyAndReplace(hashing: HashingSlot): Promise<LoggedIn> {
      let last: CustomerCredentials | null = null
      // When the hash or the state changed during the verification, it is repeated.
      for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts++) {
        const found = await deadline.run((timeoutMs) => customers.findByEmail(attempt.account, timeoutMs))
        last = found
        const mayLogIn = found !== null && found.customer.disabledAtMs === null
        const verifiedHash = mayLogIn ? found.passwordHash : null
        const right = await hashing.verify(password, verifiedHash)
        // Imported hashes may be of the empty password. It is refused after the verification, for equal time.
        if (password === '') break
        if (!right || !mayLogIn || verifiedHash === null) break

        const { secret, digest } = secrets.issue()
        const token = newLoginToken(found.customer)
        const revoked = await deadline.run((timeoutMs) =>
          loginTokens.replace({ token, digest, verifiedHash }, timeoutMs),
        )
        if (revoked === null) continue
        const fields = { ...who, customer_id: token.customerId }
        if (revoked > 0) audit.record('token.revoked', { ...fields, reason: 'replaced', count: revoked })
        audit.record('token.issued', { ...fields, token_id: token.id, token_name: token.name })
        audit.record('login.succeeded', { ...fields, token_id: token.id })
        if (passwords.isDated(verifiedHash)) await renewHash(hashing, token.customerId, verifiedHash)
        return { secret, token }
      }
      failure = { ...who, customer_id: last?.customer.id ?? null, reason: failureReason(last) }
      throw new InvalidCredentials()
    }

    /** Replaces a dated hash by a new one. A failure does not matter: the login has succeeded. */
    async function renewHash(hashing: HashingSlot, customerId: string, from: string): Promise<void> {
      try {
        const to = await hashing.hash(password)
        await customers.rehash(customerId, from, to, REHASH_TIMEOUT_MS)
      } catch {}
    }
  }

  function newLoginToken(customer: Customer): LoginToken {
    const createdAtMs = clock.nowMs()
    return {
      id: ids.next(),
      customerId: customer.id,
      name: LOGIN_TOKEN_NAME,
      abilities: LOGIN_TOKEN_ABILITIES,
      createdAtMs,
      expiresAtMs: expiresAt(createdAtMs, tokenTtlMs),
      revokedAtMs: null,
      lastUsedAtMs: null,
    }
  }
}

function failureReason(found: CustomerCredentials | null): AuditReason<'login.failed'> {
  if (found === null) return 'unknown'
  return found.customer.disabledAtMs === null ? 'password' : 'disabled'
}
