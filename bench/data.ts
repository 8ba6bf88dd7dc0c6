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

/** Stores as many customers, each with a login token; answers the secrets. */
export async function makeTokens({ sql }: TestDatabase, count: number): Promise<readonly string[]> {
  const { issue } = tokenSecrets({ prefix: 'lk' })
  const issued = Array.from({ length: count }, issue)
  await sql(
    `with made as (
       insert into customers (id, email, name, created_at)
       select gen_random_uuid(), 'customer-' || lpad(n::text, 8, '0') || '@example.com', 'Ada Lovelace', now()
         from generate_series(1, $1) as n
       returning id
     )
     insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at)
     select gen_random_uuid(), owner.id, 'login', decode(asked.digest, 'hex'), '{*}', now(), now() + interval '30 days'
       from (select id, row_number() over () as n from made) as owner
       join unnest($2::text[]) with ordinality as asked (digest, n) using (n)`,
    [count, issued.map(({ digest }) => digest)],
  )
  await sql('analyze customers, login_tokens')
  return issued.map(({ secret }) => secret)
}
