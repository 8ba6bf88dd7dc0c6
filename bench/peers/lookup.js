// The lookup of a token in the tables of Latchkey, as each of the other servers would have it.
import { hash } from 'node:crypto'
import { pool } from './serving.js'

const FIND = {
  name: 'find',
  text: `
    select customers.id, customers.email, customers.name, customers.created_at,
           login_tokens.name as token_name, login_tokens.abilities, login_tokens.created_at as token_created_at,
           login_tokens.expires_at
      from login_tokens join customers on customers.id = login_tokens.customer_id
     where login_tokens.token_hash = $1
       and login_tokens.revoked_at is null
       and (login_tokens.expires_at is null or login_tokens.expires_at > now())
       and customers.disabled_at is null`,
}

/** Returns the token of `Authorization: Bearer <token>`, or null. */
export function readSecret(authorization = '') {
  return authorization.startsWith('Bearer ') ? authorization.slice(7) : null
}

export function sha256(secret) {
  return hash('sha256', secret, 'hex')
}

/** Returns the profile of the token's customer, or null for an invalid token. */
export async function findProfile(digest) {
  const { rows } = await pool.query({ ...FIND, values: [Buffer.from(digest, 'hex')] })
  const [row] = rows
  if (row === undefined) return null
  return {
    success: true,
    customer: { id: row.id, email: row.email, name: row.name, created_at: row.created_at.toISOString() },
    token: {
      name: row.token_name,
      abilities: row.abilities,
      created_at: row.token_created_at.toISOString(),
      expires_at: row.expires_at?.toISOString() ?? null,
    },
  }
}
