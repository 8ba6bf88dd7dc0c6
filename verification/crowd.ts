import { bcryptPasswordHasher } from '../src/adapters/bcrypt/password-hasher.ts'
import type { Called } from '../src/testing/call.ts'
import { PASSWORD, type RunningApp } from '../tests/support/running-app.ts'

/** Settings for rows that are not about guessing, in which all requests come from one address. */
export const UNLIMITED = { LOGIN_LIMIT_ACCOUNT: 'off', LOGIN_LIMIT_ADDRESS: 'off' }

/** Stores customers with the common test password, hashed once. Returns their e-mails. */
export async function addCrowd(app: RunningApp, count: number, cost: number): Promise<readonly string[]> {
  const passwordHash = await bcryptPasswordHasher({ cost }).hash(PASSWORD)
  const rows = await app.database.sql(
    `insert into customers (id, email, name, password_hash, created_at)
     select gen_random_uuid(), 'crowd-' || n || '@example.com', 'Ada', $2, now() from generate_series(1, $1) as n
     returning email`,
    [count, passwordHash],
  )
  return rows.map(({ email }) => `${email}`)
}

/** Logs one of them in. */
export function loginOf(app: RunningApp, email: string): Promise<Called> {
  return app.call('/api/login', { body: { email, password: PASSWORD } })
}
