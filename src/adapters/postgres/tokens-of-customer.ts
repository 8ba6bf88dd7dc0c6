import type { LoginToken } from '../../domain/login-token.ts'
import type { DatabasePool } from './connection/pool.ts'
import type { Session } from './connection/session.ts'
import { LISTED_TOKEN_COLUMNS, toLoginToken } from './rows.ts'

/** Every statement has a time-out of the server, whatever the caller's, so none may concern all tokens of a customer. */
const PAGE_ROWS = 2000
const STEP_ROWS = 1000

const LIST_PAGE = {
  name: 'list_tokens_of_customer',
  text: `
    select ${LISTED_TOKEN_COLUMNS}, login_tokens.created_at::text as created_at from login_tokens
     where customer_id = $1 and (created_at, id) < ($2::timestamptz, $3::uuid)
     order by login_tokens.created_at desc, id desc
     limit ${PAGE_ROWS}`,
}

const BEFORE_NEWEST: readonly unknown[] = ['infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff']

const DELETE_STEP = {
  name: 'delete_tokens_of_customer',
  text: `
    delete from login_tokens
     where id = any(array(
             select id from login_tokens where customer_id = $1
              order by created_at desc, id desc offset ${STEP_ROWS} limit ${STEP_ROWS}))`,
}

/** Returns the customer's tokens, newest first, read in pages. All pages together take at most `timeoutMs`. */
export async function listByCustomer(
  pool: DatabasePool,
  customerId: string,
  timeoutMs: number,
): Promise<readonly LoginToken[]> {
  const tokens: LoginToken[] = []
  let after = BEFORE_NEWEST
  await repeat(pool, timeoutMs, async (session) => {
    const { rows } = await session.query(LIST_PAGE, [customerId, ...after])
    for (const row of rows) tokens.push(toLoginToken(row))
    after = [rows.at(-1)?.created_at, rows.at(-1)?.token_id]
    return rows.length === PAGE_ROWS
  })
  return tokens
}

/**
 * Deletes all but the newest 1,000 tokens of the customer in steps, each of which commits by itself. Those that remain are
 * deleted with the customer, at once or not at all. All steps together take at most `timeoutMs`. Returns the milliseconds
 * that remain.
 */
export function deleteOldTokensOfCustomer(
  pool: DatabasePool,
  customerId: string,
  timeoutMs: number,
): Promise<number> {
  return repeat(
    pool,
    timeoutMs,
    async (session) => (await session.query(DELETE_STEP, [customerId])).count === STEP_ROWS,
  )
}

async function repeat(
  pool: DatabasePool,
  timeoutMs: number,
  step: (session: Session) => Promise<boolean>,
): Promise<number> {
  const endMs = performance.now() + timeoutMs
  const remainingMs = () => Math.max(0, endMs - performance.now())
  while (await pool.run(remainingMs(), step));
  return remainingMs()
}
