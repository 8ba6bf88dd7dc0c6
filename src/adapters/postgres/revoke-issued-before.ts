import type { StepOptions } from '../../application/ports/login-tokens.ts'
import { Unavailable } from '../../domain/errors.ts'
import type { DatabasePool } from './connection/pool.ts'
import type { Statement } from './connection/session.ts'
import { toDate } from './rows.ts'

const MAX_ROWS = 1000
const MIN_ROWS = 60
const MAX_ATTEMPTS = 3
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

// Ordered by id, which no update changes. A step begins with the last id of the previous step, so that one condition also
// fits the first step and stays an index range under a generic plan, which does not know the parameters.
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

// The triggers publish only changed rows. After a restore, an instance may have cached tokens that no table contains.
const FORGET_EVERYTHING: Statement = {
  name: 'forget_everything',
  text: "select latchkey_say('1 forget')",
}

/**
 * Revokes tokens by age in steps over the whole table, then makes every instance clear its cache. Returns the number of
 * revoked tokens. A step that fails with `Unavailable` is repeated with fewer rows, and later steps do not take more. When
 * the reply to a commit was lost, the number does not include its rows.
 */
export async function revokeInSteps(
  pool: DatabasePool,
  beforeMs: number,
  atMs: number,
  { timeoutMs, onStep, signal }: StepOptions,
): Promise<number> {
  let limit = MAX_ROWS
  let revoked = 0
  for (let firstId: unknown = FIRST_ID; firstId !== null; ) {
    const values = [toDate(beforeMs), toDate(atMs), firstId]
    const row = await retry(
      () => query(revokeStep(limit), values),
      () => {
        limit = Math.max(MIN_ROWS, Math.floor(limit / 4))
      },
    )
    revoked += Number(row?.revoked)
    onStep?.(Number(row?.revoked))
    firstId = row?.next_id ?? null
  }
  await retry(() => query(FORGET_EVERYTHING, []))
  return revoked

  async function query(statement: Statement, values: readonly unknown[]) {
    if (signal?.aborted) throw signal.reason
    return (await pool.run(timeoutMs, (session) => session.query(statement, values))).rows[0]
  }
}

async function retry<T>(attempt: () => Promise<T>, onFailure = () => {}): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Unavailable) || failures === MAX_ATTEMPTS) throw error
      onFailure()
    }
  }
}
