import type { Customer } from '../../domain/customer.ts'
import { createLoginToken } from '../../domain/login-token.ts'
import type { AuditReason } from '../audit-events.ts'
import type { CustomerCredentials } from '../ports/customers.ts'
import type { HashingSlot } from '../ports/password-hasher.ts'
import type { Ports } from '../ports/ports.ts'
import { requesterFields } from '../requester.ts'
import type { LoggedIn, LoginDecision, LoginRequest } from './login-step.ts'

const MAX_ATTEMPTS = 3
/** A separate timeout: the wait for other instances may have used up the request's deadline. */
const REHASH_TIMEOUT_MS = 1000

/** The ports that an exchange of credentials needs. */
export type ExchangePorts = Pick<
  Ports,
  'customers' | 'loginTokens' | 'passwords' | 'audit' | 'secrets' | 'clock' | 'ids'
>

/** Finds the customer, verifies the password and replaces the login token. */
export function createExchangeCredentials(
  { customers, loginTokens, passwords, audit, secrets, clock, ids }: ExchangePorts,
  tokenTtlMs: number | null,
): (request: LoginRequest, slot: HashingSlot) => Promise<LoginDecision> {
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
      return { kind: 'accepted', login }
    }
    return { kind: 'refused', customerId: found?.customer.id ?? null, reason: refusalReason(found) }
  }

  function find({ attempt, deadline }: LoginRequest): Promise<CustomerCredentials | null> {
    return deadline.run((timeoutMs) => customers.findByEmail(attempt.account, timeoutMs))
  }

  /** Stores a new login token and revokes the earlier one; returns null when the hash is no longer the customer's. */
  async function replace(
    { deadline, requester }: LoginRequest,
    customer: Customer,
    verifiedHash: string,
  ): Promise<LoggedIn | null> {
    const { secret, digest } = secrets.issue()
    const token = createLoginToken({
      id: ids.next(),
      customerId: customer.id,
      createdAtMs: clock.nowMs(),
      ttlMs: tokenTtlMs,
    })
    const revoked = await deadline.run((timeoutMs) =>
      loginTokens.replace({ token, digest, verifiedHash }, timeoutMs),
    )
    if (revoked === null) return null
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
      const to = await slot.hash(password)
      await customers.rehash(customer.id, from, to, REHASH_TIMEOUT_MS)
    } catch {}
  }
}

/** Returns the stored hash if the password matches it, or null. Takes the same time for a customer who may not log in. */
async function verifyPassword(
  password: string,
  found: CustomerCredentials | null,
  slot: HashingSlot,
): Promise<string | null> {
  const mayLogIn = found !== null && found.customer.disabledAtMs === null
  const passwordHash = mayLogIn ? found.passwordHash : null
  const isRight = await slot.verify(password, passwordHash)
  // Imported hashes may be of the empty password. It is refused after the verification, for equal time.
  return isRight && password !== '' ? passwordHash : null
}

function refusalReason(found: CustomerCredentials | null): AuditReason<'login.failed'> {
  if (found === null) return 'unknown'
  return found.customer.disabledAtMs === null ? 'password' : 'disabled'
}
