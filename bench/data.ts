import { randomUUID } from 'node:crypto'
import { tokenSecrets } from '../src/adapters/node-crypto/token-secrets.ts'
import type { TestDatabase } from '../tests/support/database.ts'

/** Stores a customer with a login token; answers the secret. */
export async function makeToken({
  sql,
}: TestDatabase): Promise<{ readonly secret: string; readonly customerId: string }> {
  const customerId = randomUUID()
  const { secret, digest } = tokenSecrets({ prefix: 'lk' }).issue()
  await sql(`insert into customers (id, email, name, created_at) values ($1, $2, 'Ada Lovelace', now())`, [
    customerId,
    `${customerId.slice(0, 8)}@example.com`,
  ])
  await sql(
    `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at)
     values ($1, $2, 'login', decode($3, 'hex'), '{*}', now(), now() + interval '30 days')`,
    [randomUUID(), customerId, digest],
  )
  return { secret, customerId }
}
