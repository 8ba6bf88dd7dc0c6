import type { Customer } from '../../domain/customer.ts'
import { TooManySessions } from '../../domain/errors.ts'
import { createLoginToken } from '../../domain/login-token.ts'
import type { Admission, HeldSession } from '../../domain/session.ts'
import type { AuditReason } from '../audit-events.ts'
import type { CustomerCredentials } from '../ports/customers.ts'
import type { HashingSlot } from '../ports/password-hasher.ts'
import type { Ports } from '../ports/ports.ts'
import { requesterFields } from '../requester.ts'
import type { Decision, LoggedIn, LoginRequest } from './login-step.ts'
import { verifyPassword } from './verify-password.ts'

const MAX_ATTEMPTS = 3
/** A separate timeout: the wait for other instances may have used up the request's deadline. */
const REHASH_TIMEOUT_MS = 1000

/** The ports that an exchange of credentials needs. */
export type ExchangePorts = Pick<
  Ports,
  'customers' | 'loginTokens' | 'passwords' | 'audit' | 'secrets' | 'clock' | 'ids'
>

/** The settings of an exchange. */
export interface IssueSettings {
  /** Null for tokens that never expire. */
  readonly tokenTtlMs: number | null
  /** Decides on the new session at a time; undefined where each replaces all others. */
  readonly admit: ((held: readonly HeldSession[], nowMs: number) => Admission | 'full') | undefined
}

/** Finds the customer, verifies the password and stores the login token. Throws `TooManySessions` at the limit. */
export function createExchangeCredentials(
  { customers, loginTokens, passwords, audit, secrets, clock, ids }: ExchangePorts,
  { tokenTtlMs, admit }: IssueSettings,
): (request: LoginRequest, slot: HashingSlot) => Promise<Decision<LoggedIn>> {
  return async function exchangeCredentials(request, slot) {
    let found: CustomerCredentials | null = null
    // When the hash or the state changed during the verification, it is repeated.
    for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts++) {
      found = await find(request)
      const verifiedHash = await verifyPassword(request.password, found, slot)
      if (found === null || verifiedHash === null) break
      const login = await replace(request, found.customer, verifiedHash)
      if (login === null) continue
      if (passwords.isDated(verifiedHash)) await rehash(request.password, found.customer, verifiedHash, slot)
      return { kind: 'accepted', result: login }
    }
    return { kind: 'refused', customerId: found?.customer.id ?? null, reason: refusalReason(found) }
  }

  function find({ attempt, deadline }: LoginRequest): Promise<CustomerCredentials | null> {
    return deadline.run((timeoutMs) => customers.findByEmail(attempt.account, timeoutMs))
  }

  /** Stores a new login token and revokes earlier ones; returns null when the hash is no longer the customer's. */
  async function replace(
    { deadline, requester, device }: LoginRequest,
    customer: Customer,
    verifiedHash: string,
  ): Promise<LoggedIn | null> {
    const { secret, digest } = secrets.issue()
    const token = createLoginToken({
      id: ids.next(),
      customerId: customer.id,
      createdAtMs: clock.nowMs(),
      ttlMs: tokenTtlMs,
      device,
    })
    const login = {
      ...{ token, digest, verifiedHash },
      ...(admit && { admit: (held: readonly HeldSession[]) => admit(held, clock.nowMs()) }),
    }
    const revoked = await deadline.run((timeoutMs) => loginTokens.replace(login, timeoutMs))
    if (revoked === null) return null
    if (revoked === 'full') throw new TooManySessions()
    const fields = { ...requesterFields(requester), customerId: customer.id }
    if (revoked > 0) audit.record('token.revoked', { ...fields, reason: 'replaced', count: revoked })
    audit.record('token.issued', { ...fields, tokenId: token.id, tokenName: token.name })
    audit.record('login.succeeded', { ...fields, tokenId: token.id })
    return { secret, token }
  }

  /** Replaces a dated hash by a new one. A failure does not matter: the login has succeeded. */
  async function rehash(
    password: string,
    customer: Customer,
    from: string,
    slot: HashingSlot,
  ): Promise<void> {
    try {
      const to = await slot.rehash(password, from)
      if (to !== null) await customers.rehash(customer.id, from, to, REHASH_TIMEOUT_MS)
    } catch {}
  }
}

function refusalReason(found: CustomerCredentials | null): AuditReason<'login.failed'> {
  if (found === null) return 'unknown'
  return found.customer.disabledAtMs === null ? 'password' : 'disabled'
}
