import type { OwnedToken } from '../../domain/login-token.ts'

/** What a customer may read of the account and of the token in use. */
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

/** Presents the caller; a pure function of customer and token, so its text may be kept with a cache entry. */
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

/** A moment as ISO 8601 in UTC. */
export function isoTime(atMs: number): string {
  return new Date(atMs).toISOString()
}
