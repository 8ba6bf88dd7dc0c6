import { type Customer, type CustomerCredentials, LOGIN_TOKEN_NAME, type LoginToken } from 'latchkey/ports'
import type { Row } from './database.ts'

/** The columns that `toCustomer` reads, of the table `customers`. */
export const CUSTOMER_COLUMNS = `
  customers.id as customer_id, customers.email, customers.name as customer_name,
  customers.created_at as customer_created_at, customers.disabled_at`

/** The columns that `toLoginToken` reads, of the table `login_tokens`. */
export const TOKEN_COLUMNS = `
  login_tokens.id as token_id, login_tokens.customer_id, login_tokens.name as token_name, login_tokens.abilities,
  login_tokens.created_at as token_created_at, login_tokens.expires_at, login_tokens.revoked_at,
  login_tokens.last_used_at`

/** The columns of a token in lists. */
export const LISTED_TOKEN_COLUMNS = `${TOKEN_COLUMNS}, login_tokens.device`

/** Converts a row with the customer's columns. */
export function toCustomer(row: Row): Customer {
  return Object.freeze({
    id: row.customer_id as string,
    email: row.email as string,
    name: row.customer_name as string | null,
    createdAtMs: row.customer_created_at as number,
    disabledAtMs: row.disabled_at as number | null,
  })
}

/** Converts a row with the columns of a customer and the password hash. */
export function toCredentials(row: Row): CustomerCredentials {
  return Object.freeze({ customer: toCustomer(row), passwordHash: row.password_hash as string | null })
}

/** Converts a row with the token's columns. */
export function toLoginToken(row: Row): LoginToken {
  return Object.freeze({
    id: row.token_id as string,
    customerId: row.customer_id as string,
    name: row.token_name === LOGIN_TOKEN_NAME ? LOGIN_TOKEN_NAME : (row.token_name as string),
    abilities: parseAbilities(row.abilities as string),
    createdAtMs: row.token_created_at as number,
    expiresAtMs: row.expires_at as number | null,
    revokedAtMs: row.revoked_at as number | null,
    lastUsedAtMs: row.last_used_at as number | null,
    device: (row.device ?? null) as string | null,
  })
}

/** Converts a digest to the stored form: 32 bytes. */
export function toBytes(digest: string): Buffer {
  return Buffer.from(digest, 'hex')
}

// The column may have been edited by hand: a value that is not text grants nothing.
function parseAbilities(json: string): readonly string[] {
  const abilities: unknown = JSON.parse(json)
  return Object.freeze(
    Array.isArray(abilities) ? abilities.filter((ability) => typeof ability === 'string') : [],
  )
}
