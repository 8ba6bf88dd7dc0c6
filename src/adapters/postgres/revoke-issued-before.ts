import type { StepOptions } from '../../application/ports/login-tokens.ts'
import { Unavailable } from '../../domain/errors.ts'
import type { DatabasePool } from './connection/pool.ts'
import type { Statement } from './connection/session.ts'
import { CHANNEL } from './revocation/notifications.ts'
import { toDate } from './rows.ts'

const MAX_ROWS = 1000
const MIN_ROWS = 60
const MAX_ATTEMPTS = 3
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

// By the ids, whose order no update changes. A step begins with the last id of the step before, so that one condition
// serves the first step too and stays an index range under a generic plan, which knows no parameter's value.
function revokeStep(limit: number): Statement {
  return {
    name: `revoke_${limit}_tokens_issued_before`,
    text: `
      with step as materialized (
        select id from login_tokens where id >= $3 order by id limit ${limit}),
      revoked as (
        update login_tokens set revoked_at = $2
         where id = any(array(select id from step)) and created_at < $1 and revoked_at is null
        returning id)
      select (select count(*) from revoked)::int as revoked,
             (select id from step order by id offset ${limit - 1}) as next_id`,
  }
}

// The triggers announce the rows that change. After a restore an instance may cache tokens that are in no table.
const FORGET_EVERYTHING: Statement = {
  name: 'forget_everything',
  text: `select pg_notify('${CHANNEL}', '1 forget')`,
}

/**
 * Revokes by age, walking through the whole table, then makes every instance forget every cached validation. A step
 * that fails with `Unavailable` is repeated with fewer rows, and no later step takes more. Where the reply to a commit
 * was lost, the count lacks its rows.
 */
export async function revokeIssuedBefore(
  pool: DatabasePool,
  beforeMs: number,
  atMs: number,
  { timeoutMs, onStep, signal }: StepOptions,
): Promise<number> {
  let limit = MAX_ROWS
  let revoked = 0
  for (let firstId: unknown = FIRST_ID; firstId !== null; ) {
    const values = [toDate(beforeMs), toDate(atMs), firstId]
    const row = await retried(
      () => query(revokeStep(limit), values),
      () => {
        limit = Math.max(MIN_ROWS, Math.floor(limit / 4))
      },
    )
    revoked += Number(row?.revoked)
    onStep?.(Number(row?.revoked))
    firstId = row?.next_id ?? null
  }
  await retried(() => query(FORGET_EVERYTHING, []))
  return revoked

  async function query(statement: Statement, values: readonly unknown[]) {
    if (signal?.aborted) throw signal.reason
    return (await pool.run(timeoutMs, (session) => session.query(statement, values))).rows[0]
  }
}

async function retried<T>(attempt: () => Promise<T>, onFailure = () => {}): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Unavailable) || failures === MAX_ATTEMPTS) throw error
      onFailure()
    }
  }
}
