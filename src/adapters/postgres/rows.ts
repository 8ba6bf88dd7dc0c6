import type { CustomerCredentials } from '../../application/ports/customers.ts'
import type { Customer } from '../../domain/customer.ts'
import { LOGIN_TOKEN_ABILITIES, LOGIN_TOKEN_NAME, type LoginToken } from '../../domain/login-token.ts'
import type { Row } from './connection/session.ts'

/** The columns for `toCustomer`, of a table or alias `customers`. */
export const CUSTOMER_COLUMNS = `
  customers.id as customer_id, customers.email, customers.name as customer_name,
  ${epochMs('customers.created_at')} as customer_created_at, ${epochMs('customers.disabled_at')} as disabled_at`

/** The columns for `toLoginToken`, of a table or alias `login_tokens`. */
export const LOGIN_TOKEN_COLUMNS = `
  login_tokens.id as token_id, login_tokens.customer_id, login_tokens.name as token_name, login_tokens.abilities,
  ${epochMs('login_tokens.created_at')} as token_created_at, ${epochMs('login_tokens.expires_at')} as expires_at,
  ${epochMs('login_tokens.revoked_at')} as revoked_at, ${epochMs('login_tokens.last_used_at')} as last_used_at`

/** The columns of a token in a list, which include the label of the device. */
export const LISTED_TOKEN_COLUMNS = `${LOGIN_TOKEN_COLUMNS}, login_tokens.device`

/** Selects a time as a number: parsing a Date would cost more than the rest of the row. */
function epochMs(column: string): string {
  return `date_part('epoch', ${column}) * 1000`
}

/** Converts a row with `CUSTOMER_COLUMNS`. */
export function toCustomer(row: Row): Customer {
  return Object.freeze({
    id: row.customer_id as string,
    email: row.email as string,
    name: row.customer_name as string | null,
    createdAtMs: timeMs(row.customer_created_at),
    disabledAtMs: optionalTimeMs(row.disabled_at),
  })
}

/** Converts a row with `CUSTOMER_COLUMNS` and `password_hash`. */
export function toCredentials(row: Row): CustomerCredentials {
  return Object.freeze({ customer: toCustomer(row), passwordHash: row.password_hash as string | null })
}

/** Converts a row with `LOGIN_TOKEN_COLUMNS` or `LISTED_TOKEN_COLUMNS`. */
export function toLoginToken(row: Row): LoginToken {
  return Object.freeze({
    id: row.token_id as string,
    customerId: row.customer_id as string,
    name: row.token_name === LOGIN_TOKEN_NAME ? LOGIN_TOKEN_NAME : (row.token_name as string),
    abilities: toAbilities(row.abilities),
    createdAtMs: timeMs(row.token_created_at),
    expiresAtMs: expiryMs(row.expires_at),
    revokedAtMs: optionalTimeMs(row.revoked_at),
    lastUsedAtMs: optionalTimeMs(row.last_used_at),
    device: (row.device ?? null) as string | null,
  })
}

/** Converts a time to the driver's type; null stays null. */
export function toDate(atMs: number): Date
export function toDate(atMs: number | null): Date | null
export function toDate(atMs: number | null): Date | null {
  return atMs === null ? null : new Date(atMs)
}

/** Converts a digest to its 32 bytes. */
export function toBytes(digest: string): Buffer {
  return Buffer.from(digest, 'hex')
}

const LATEST_MS = 8.64e15
const ROUNDING_MS = 0.0005

// An operator may write `infinity` by hand for "never".
function expiryMs(value: unknown): number | null {
  const atMs = optionalTimeMs(value)
  return atMs === LATEST_MS ? null : atMs
}

function optionalTimeMs(value: unknown): number | null {
  return value === null ? null : timeMs(value)
}

// PostgreSQL has times outside the range of a Date, such as infinity: they become the latest or the earliest Date. It
// stores microseconds, whose fraction is inexact in a number of this size.
function timeMs(value: unknown): number {
  const atMs = Math.floor((value as number) + ROUNDING_MS)
  return Math.max(-LATEST_MS, Math.min(LATEST_MS, atMs))
}

// A value that is not a list of texts grants no ability.
function toAbilities(value: unknown): readonly string[] {
  const words = Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []
  // Most tokens have these abilities: a shared array saves memory in the cache.
  if (words.length === 1 && words[0] === LOGIN_TOKEN_ABILITIES[0]) return LOGIN_TOKEN_ABILITIES
  return Object.freeze(words)
}
