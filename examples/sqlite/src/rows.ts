import { type Customer, type CustomerCredentials, LOGIN_TOKEN_NAME, type LoginToken } from 'latchkey/ports'
import type { Row } from './database.ts'

/** The columns that `customerOf` reads, of the table `customers`. */
export const CUSTOMER_COLUMNS = `
  customers.id as customer_id, customers.email, customers.name as customer_name,
  customers.created_at as customer_created_at, customers.disabled_at`

/** The columns that `loginTokenOf` reads, of the table `login_tokens`. */
export const TOKEN_COLUMNS = `
  login_tokens.id as token_id, login_tokens.customer_id, login_tokens.name as token_name, login_tokens.abilities,
  login_tokens.created_at as token_created_at, login_tokens.expires_at, login_tokens.revoked_at`

/** The columns of a token as lists tell it. */
export const LISTED_TOKEN_COLUMNS = `${TOKEN_COLUMNS}, login_tokens.last_used_at`

/** A customer from a row with the customer's columns. */
export function customerOf(row: Row): Customer {
  return Object.freeze({
    id: row.customer_id as string,
    email: row.email as string,
    name: row.customer_name as string | null,
    createdAtMs: row.customer_created_at as number,
    disabledAtMs: row.disabled_at as number | null,
  })
}

/** A customer with the password hash, from a row with both. */
export function credentialsOf(row: Row): CustomerCredentials {
  return Object.freeze({ customer: customerOf(row), passwordHash: row.password_hash as string | null })
}

/** A token from a row with the token's columns. */
export function loginTokenOf(row: Row): LoginToken {
  return Object.freeze({
    id: row.token_id as string,
    customerId: row.customer_id as string,
    name: row.token_name === LOGIN_TOKEN_NAME ? LOGIN_TOKEN_NAME : (row.token_name as string),
    abilities: wordsOf(row.abilities as string),
    createdAtMs: row.token_created_at as number,
    expiresAtMs: row.expires_at as number | null,
    revokedAtMs: row.revoked_at as number | null,
    lastUsedAtMs: (row.last_used_at ?? null) as number | null,
  })
}

/** A digest as it is stored: 32 bytes. */
export function bytesOf(digest: string): Buffer {
  return Buffer.from(digest, 'hex')
}

// Whatever is no word grants nothing: somebody may have written it by hand.
function wordsOf(json: string): readonly string[] {
  const words: unknown = JSON.parse(json)
  return Object.freeze(Array.isArray(words) ? words.filter((word) => typeof word === 'string') : [])
}
