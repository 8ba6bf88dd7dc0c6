import type { DatabasePool } from './connection/pool.ts'
import { toDate } from './rows.ts'

/** Longer than the timeout of a request: counting many tokens is slow. It uses one connection. */
const COUNT_TIMEOUT_MS = 5000

// The server cancels a little earlier than the pool, which would discard the connection.
const SET_TIMEOUT = {
  name: 'set_count_timeout',
  text: `set local statement_timeout = ${COUNT_TIMEOUT_MS - 500}`,
}

// These conditions match the index, which contains null for tokens that never end.
const COUNT_ACTIVE = {
  name: 'count_active_tokens',
  text: `
    select (select count(*) from login_tokens where least(revoked_at, expires_at) > $1)
         + (select count(*) from login_tokens where least(revoked_at, expires_at) is null) as active`,
}

/** Returns the number of tokens that are neither revoked nor expired at `atMs`. Throws `Unavailable` after five seconds. */
export function countActiveTokens(pool: DatabasePool, atMs: number): Promise<number> {
  return pool.run(COUNT_TIMEOUT_MS, (session) =>
    session.transaction(async () => {
      await session.query(SET_TIMEOUT, [])
      const { rows } = await session.query(COUNT_ACTIVE, [toDate(atMs)])
      return Number(rows[0]?.active)
    }),
  )
}
