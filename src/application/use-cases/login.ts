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

/** What a login sets free: the secret is shown this once. */
export interface LoggedIn {
  readonly secret: string
  readonly token: LoginToken
}

/**
 * Exchanges e-mail and password for a new login token and revokes the earlier one, or throws `InvalidCredentials`;
 * `TooManyRequests` after too many failures, `Unavailable` when too many passwords are being looked at. The empty
 * password is never accepted, whatever hash is stored.
 */
export type Login = (
  credentials: { readonly email: string; readonly password: string },
  deadline: Deadline,
  requester: Requester,
) => Promise<LoggedIn>

/** What a login needs to know beside its ports. */
export interface LoginSettings {
  /** Lifetime of a login token in milliseconds; null for ever. */
  readonly tokenTtlMs: number | null
  /** Failures by account and address together; null for no limit. */
  readonly loginLimitAccount: LoginLimit | null
}

const ATTEMPTS = 3
/** Of its own: the wait for other instances may have used up the patience of the request. */
const REHASH_TIMEOUT_MS = 1000

export function createLogin(ports: Ports, { tokenTtlMs, loginLimitAccount }: LoginSettings): Login {
  const { customers, loginTokens, passwords, throttle, audit, secrets, clock, ids } = ports
  // As many as there are places: those behind them wait here, where waiting costs no store and no place in a queue.
  const semaphore = createKeyedSemaphore(loginLimitAccount?.failures ?? Number.POSITIVE_INFINITY, clock)

  return async function login({ email, password }, deadline, requester) {
    const { address, signal } = requester
    const attempt = { account: foldedEmail(email), address }
    const who = requesterFields(requester)
    let failure = null as AuditFields<'login.failed'> | null
    const releaseSlot = await semaphore.acquire(`${address} ${attempt.account}`, signal)
    try {
      // Before any store is asked: what has no place now is refused as fast as it can be.
      passwords.queue(signal).leave()
      return await withLoginThrottle(throttle, attempt, deadline, clock, signal, exchange)
    } catch (error) {
      // Told once it is counted, so that a guess counts also where it cannot be told.
      if (error instanceof InvalidCredentials && failure !== null) audit.record('login.failed', failure)
      if (error instanceof TooManyRequests)
        audit.record('login.throttled', { ...who, reason: error.limit.name })
      throw error
    } finally {
      releaseSlot()
    }

    // Whoever waits to be admitted hashes nothing, and must not take a place from those who do.
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
      // A password or a state that changed while it was being verified is verified again.
      for (let attempts = 1; attempts <= ATTEMPTS; attempts++) {
        const found = await deadline.run((timeoutMs) => customers.findByEmail(attempt.account, timeoutMs))
        last = found
        const mayLogIn = found !== null && found.customer.disabledAtMs === null
        const verifiedHash = mayLogIn ? found.passwordHash : null
        const right = await hashing.verify(password, verifiedHash)
        // Other systems have hashed it for accounts without a password. Verified all the same, for equal time.
        if (password === '') break
        if (!right || !mayLogIn || verifiedHash === null) break

        const { secret, digest } = secrets.issue()
        const token = newLoginToken(found.customer)
        const revoked = await deadline.run((timeoutMs) =>
          loginTokens.replace({ token, digest, verifiedHash }, timeoutMs),
        )
        if (revoked === null) continue
        const of = { ...who, customer_id: token.customerId }
        if (revoked > 0) audit.record('token.revoked', { ...of, reason: 'replaced', count: revoked })
        audit.record('token.issued', { ...of, token_id: token.id, token_name: token.name })
        audit.record('login.succeeded', { ...of, token_id: token.id })
        if (passwords.isDated(verifiedHash)) await renewHash(hashing, token.customerId, verifiedHash)
        return { secret, token }
      }
      failure = { ...who, customer_id: last?.customer.id ?? null, reason: toFailure(last) }
      throw new InvalidCredentials()
    }

    /** Hashes the password as new ones are hashed; the login is done, whatever becomes of this. */
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

function toFailure(found: CustomerCredentials | null): AuditReason<'login.failed'> {
  if (found === null) return 'unknown'
  return found.customer.disabledAtMs === null ? 'password' : 'disabled'
}
