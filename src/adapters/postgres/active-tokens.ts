import type { DatabasePool } from './connection/pool.ts'
import { toDate } from './rows.ts'

/** Longer than anybody waits for an answer: of many tokens the count takes its time, and holds one connection. */
const COUNT_MS = 5000

// The server gives up a little earlier than the pool, which would throw the connection away.
const PATIENT = { name: 'patient_statement', text: `set local statement_timeout = ${COUNT_MS - 500}` }

// In the terms of the index, which has null for those that never end.
const COUNT_ACTIVE = {
  name: 'count_active_tokens',
  text: `
    select (select count(*) from login_tokens where least(revoked_at, expires_at) > $1)
         + (select count(*) from login_tokens where least(revoked_at, expires_at) is null) as active`,
}

/** The tokens that are neither revoked nor expired at a moment. */
export function countActiveTokens(pool: DatabasePool, atMs: number): Promise<number> {
  return pool.run(COUNT_MS, (session) =>
    session.transaction(async () => {
      await session.query(PATIENT, [])
      const { rows } = await session.query(COUNT_ACTIVE, [toDate(atMs)])
      return Number(rows[0]?.active)
    }),
  )
}
