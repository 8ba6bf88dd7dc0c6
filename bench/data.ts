import { bcryptPasswordHasher } from '../src/adapters/bcrypt/password-hasher.ts'
import { tokenSecrets } from '../src/adapters/node-crypto/token-secrets.ts'
import type { TestDatabase } from '../tests/support/database.ts'
import { loginRequest } from './load.ts'

/** The password of every account. */
export const PASSWORD = 'correct horse 9'

/** Stores as many customers, each with a login token. Returns the secrets. */
export async function createTokens({ sql }: TestDatabase, count: number): Promise<readonly string[]> {
  const { issue } = tokenSecrets({ prefix: 'lk' })
  const issued = Array.from({ length: count }, issue)
  await sql(
    `with created as (
       insert into customers (id, email, name, created_at)
       select id, left(id::text, 13) || '@example.com', 'Ada Lovelace', now()
         from (select gen_random_uuid() as id from generate_series(1, $1)) as ids
       returning id
     )
     insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at)
     select gen_random_uuid(), owner.id, 'login', decode(digest, 'hex'), '{*}', now(), now() + interval '30 days'
       from (select id, row_number() over () as n from created) as owner
       join unnest($2::text[]) with ordinality as digests (digest, n) using (n)`,
    [count, issued.map(({ digest }) => digest)],
  )
  await sql('analyze customers, login_tokens')
  return issued.map(({ secret }) => secret)
}

/** Stores as many customers with a password of this cost. Returns a login request for each. */
export async function createLogins(
  { sql }: TestDatabase,
  { count, cost }: { readonly count: number; readonly cost: number },
): Promise<readonly string[]> {
  const rows = await sql<{ email: string }>(
    `insert into customers (id, email, name, password_hash, created_at)
     select gen_random_uuid(), 'account-' || lpad(n::text, 6, '0') || '@example.com', 'Ada Lovelace', $2, now()
       from generate_series(1, $1) as n
     returning email`,
    [count, await bcryptPasswordHasher({ cost }).hash(PASSWORD)],
  )
  return rows.map(({ email }) => loginRequest(email, PASSWORD))
}

/** Returns the token with another last character, which fails the checksum. */
export function withWrongChecksum(secret: string): string {
  return secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')
}
