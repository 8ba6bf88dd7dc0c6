import type { Customer } from '../../domain/customer.ts'
import type { LoginToken, OwnedToken } from '../../domain/login-token.ts'

/** What callers may see of their own account and of the token in use. */
export interface Profile {
  readonly customer: Pick<Customer, 'id' | 'email' | 'name' | 'createdAtMs'>
  readonly token: Pick<LoginToken, 'name' | 'abilities' | 'createdAtMs' | 'expiresAtMs'>
}

/** Returns the caller's profile. A pure function of customer and token, so that its JSON can be cached with the token. */
export function me({ customer, token }: OwnedToken): Profile {
  return {
    customer: {
      id: customer.id,
      email: customer.email,
      name: customer.name,
      createdAtMs: customer.createdAtMs,
    },
    token: {
      name: token.name,
      abilities: token.abilities,
      createdAtMs: token.createdAtMs,
      expiresAtMs: token.expiresAtMs,
    },
  }
}
