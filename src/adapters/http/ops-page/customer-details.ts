import type { AccountFailures } from '../../../application/ports/login-throttle.ts'
import type { Customer } from '../../../domain/customer.ts'
import { type LoginToken, tokenState } from '../../../domain/login-token.ts'
import { isoTime, isoTimeOrNull } from '../response/iso-time.ts'

/** The number of a customer's tokens that are shown. */
const MAX_TOKENS = 200

/** Returns a customer's data for the operator's page. */
export function customerDetails({ id, email, name, createdAtMs, disabledAtMs }: Customer) {
  return { id, email, name, created_at: isoTime(createdAtMs), disabled_at: isoTimeOrNull(disabledAtMs) }
}

/** Returns the failed logins that count for a customer; null when they are not known. */
export function limitDetails(failures: AccountFailures | null) {
  return failures === null
    ? null
    : {
        failures: failures.failures,
        locked_addresses: failures.lockedAddresses,
        guesses_until: isoTimeOrNull(failures.guessesUntilMs),
      }
}

/** Returns the active sessions, in their order. Never contains a secret or its digest. */
export function sessionDetails(sessions: readonly LoginToken[]) {
  return sessions.map(({ id, device, createdAtMs, lastUsedAtMs, expiresAtMs }) => ({
    id,
    device,
    created_at: isoTime(createdAtMs),
    last_used_at: isoTimeOrNull(lastUsedAtMs),
    expires_at: isoTimeOrNull(expiresAtMs),
  }))
}

/**
 * Returns the tokens, active ones first, the number of active ones, and that of omitted ones. Never contains a secret or its
 * digest.
 */
export function tokenDetails(tokens: readonly LoginToken[], nowMs: number) {
  const isActive = (token: LoginToken) => tokenState(token, nowMs) === 'active'
  const sorted = [...tokens.filter(isActive), ...tokens.filter((token) => !isActive(token))]
  return {
    active: tokens.filter(isActive).length,
    tokens: sorted.slice(0, MAX_TOKENS).map((token) => ({
      id: token.id,
      name: token.name,
      abilities: token.abilities,
      state: tokenState(token, nowMs),
      created_at: isoTime(token.createdAtMs),
      last_used_at: isoTimeOrNull(token.lastUsedAtMs),
      expires_at: isoTimeOrNull(token.expiresAtMs),
    })),
    more: Math.max(0, sorted.length - MAX_TOKENS),
  }
}
