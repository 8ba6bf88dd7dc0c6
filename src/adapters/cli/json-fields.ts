import type { Customer } from '../../domain/customer.ts'
import { type LoginToken, tokenState } from '../../domain/login-token.ts'

/** Returns a customer as JSON documents show it. */
export function customerFields({ id, email, name, createdAtMs, disabledAtMs }: Customer): object {
  return {
    id,
    email,
    name,
    state: disabledAtMs === null ? 'active' : 'disabled',
    created_at: toIso(createdAtMs),
    disabled_at: toIso(disabledAtMs),
  }
}

/** Returns a token as JSON documents show it, without secret and digest. */
export function tokenFields(token: LoginToken, nowMs: number): object {
  return {
    id: token.id,
    customer_id: token.customerId,
    name: token.name,
    state: tokenState(token, nowMs),
    abilities: token.abilities,
    created_at: toIso(token.createdAtMs),
    last_used_at: toIso(token.lastUsedAtMs),
    expires_at: toIso(token.expiresAtMs),
    revoked_at: toIso(token.revokedAtMs),
  }
}

/** Returns a session as JSON documents show it. */
export function sessionFields({ id, device, createdAtMs, lastUsedAtMs, expiresAtMs }: LoginToken): object {
  return {
    id,
    device,
    created_at: toIso(createdAtMs),
    last_used_at: toIso(lastUsedAtMs),
    expires_at: toIso(expiresAtMs),
  }
}

function toIso(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString()
}
