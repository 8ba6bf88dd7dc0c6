import { type CheckResult, checkFailed, checkPassed } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'

/** Extracts the cost of a whole hash; the pattern is that of `isWholePasswordHash`. */
const COUNTS = `
  with hashes as (
    select password_hash,
           substring(password_hash from '^\\$2[aby]\\$(0[4-9]|1[0-5])\\$[./A-Za-z0-9]{53}$')::int as cost
    from customers where password_hash is not null
  )
  select count(*) filter (where cost is null)::int as damaged,
         count(*) filter (where cost > $1)::int as dearer
  from hashes`

/** Checks that every stored password hash can be verified, and that none costs more than a new one. */
export async function checkStoredHashes(url: string, cost: number, queryMs: number): Promise<CheckResult> {
  const stored = await storedHashes(url, cost, queryMs)
  if (stored === null) return checkPassed('database.passwords', 'There are no customers yet.')
  const { damaged, dearer } = stored
  const facts = { damaged, dearer }
  if (damaged > 0)
    return checkFailed(
      'database.passwords',
      'warning',
      `${damaged} stored password hashes are damaged: these customers cannot log in.`,
      'Set new passwords for them with the command customer password.',
      facts,
    )
  if (dearer > 0)
    return checkFailed(
      'database.passwords',
      'warning',
      `${dearer} stored password hashes cost more than BCRYPT_COST=${cost}: the response time of a login reveals that these customers exist.`,
      'Raise BCRYPT_COST to their cost, or leave it: each login replaces one of these hashes.',
      facts,
    )
  return checkPassed(
    'database.passwords',
    'Every stored password hash is whole, and none costs more than BCRYPT_COST.',
    facts,
  )
}

/**
 * Returns the number of stored hashes that are damaged, and of those with a higher cost than `cost`; null when the table
 * of customers does not exist yet.
 */
function storedHashes(
  url: string,
  cost: number,
  queryMs: number,
): Promise<{ readonly damaged: number; readonly dearer: number } | null> {
  return withDirectClient(
    url,
    async (client) => {
      const { rows } = await client.query("select to_regclass('customers') is not null as exists")
      return rows[0].exists ? (await client.query(COUNTS, [cost])).rows[0] : null
    },
    queryMs,
  )
}
