import type { OwnedToken } from '../../domain/login-token.ts'

/** The customer's own account and the token in use. */
export interface Profile {
  readonly customer: {
    readonly id: string
    readonly email: string
    readonly name: string | null
    readonly created_at: string
  }
  readonly token: {
    readonly name: string
    readonly abilities: readonly string[]
    readonly created_at: string
    readonly expires_at: string | null
  }
}

/** Returns the caller's profile. A pure function of customer and token, so that its JSON can be cached with the token. */
export function me({ customer, token }: OwnedToken): Profile {
  return {
    customer: {
      id: customer.id,
      email: customer.email,
      name: customer.name,
      created_at: isoTime(customer.createdAtMs),
    },
    token: {
      name: token.name,
      abilities: token.abilities,
      created_at: isoTime(token.createdAtMs),
      expires_at: token.expiresAtMs === null ? null : isoTime(token.expiresAtMs),
    },
  }
}

/** Formats a time as ISO 8601 in UTC. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}
