import { type CheckResult, checkFailed, checkPassed } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'

const PAGE_ROWS = 5000
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

// The pattern is that of `isWholePasswordHash`. It captures no group, which would take PostgreSQL ten times as long. The
// next page begins with the last id of this one, whose row is counted there.
const COUNTS = `
  with page as materialized (
    select id, password_hash from customers where id >= $2 order by id limit ${PAGE_ROWS + 1}),
  hashes as (
    select case when password_hash ~ '^(?:bcrypt_sha256\\$)?\\$2[aby]\\$(?:0[4-9]|1[0-5])\\$[./A-Za-z0-9]{53}$'
                then substr(right(password_hash, 60), 5, 2)::int end as cost
      from (select password_hash from page order by id limit ${PAGE_ROWS}) as counted
     where password_hash is not null)
  select (select least(count(*), ${PAGE_ROWS}) from page)::int as checked,
         count(*) filter (where cost is null)::int as damaged,
         count(*) filter (where cost > $1)::int as dearer,
         (select id from page order by id offset ${PAGE_ROWS}) as next_id
    from hashes`

/** The counts of the customers that were checked. */
interface HashCounts {
  checked: number
  damaged: number
  dearer: number
}

/**
 * Checks that every stored password hash can be verified, and that none costs more than a new one. After `totalMs`
 * milliseconds it reports what it has read so far: a random sample, because ids are random. A query takes at most
 * `queryMs` milliseconds.
 */
export async function checkStoredHashes(
  url: string,
  cost: number,
  queryMs: number,
  totalMs = queryMs,
): Promise<CheckResult> {
  const { counts, isComplete } = await countHashes({ url, cost, queryMs, totalMs })
  const { checked, damaged, dearer } = counts
  if (checked === 0) return checkPassed('database.passwords', 'There are no customers yet.')
  const facts = { checked, damaged, dearer }
  const sample = isComplete ? '' : ` Only a sample of ${checked} customers was checked, because of the time.`
  if (damaged > 0)
    return checkFailed(
      'database.passwords',
      'warning',
      `${damaged} stored password hashes are damaged: these customers cannot log in.${sample}`,
      'Set new passwords for them with the command customer password.',
      facts,
    )
  if (dearer > 0)
    return checkFailed(
      'database.passwords',
      'warning',
      `${dearer} stored password hashes cost more than BCRYPT_COST=${cost}: the response time of a login reveals that these customers exist.${sample}`,
      'Raise BCRYPT_COST to their cost, or leave it: each login replaces one of these hashes.',
      facts,
    )
  return checkPassed(
    'database.passwords',
    `Every stored password hash is whole, and none costs more than BCRYPT_COST.${sample}`,
    facts,
  )
}

function countHashes({
  url,
  cost,
  queryMs,
  totalMs,
}: {
  readonly url: string
  readonly cost: number
  readonly queryMs: number
  readonly totalMs: number
}): Promise<{ readonly counts: HashCounts; readonly isComplete: boolean }> {
  return withDirectClient(
    url,
    async (client) => {
      const counts: HashCounts = { checked: 0, damaged: 0, dearer: 0 }
      const { rows } = await client.query("select to_regclass('customers') is not null as exists")
      let nextId: string | null = rows[0].exists ? FIRST_ID : null
      for (const endMs = performance.now() + totalMs; nextId !== null; ) {
        const page = (await client.query(COUNTS, [cost, nextId])).rows[0]
        for (const name of ['checked', 'damaged', 'dearer'] as const) counts[name] += page[name]
        nextId = page.next_id
        if (nextId !== null && performance.now() > endMs) return { counts, isComplete: false }
      }
      return { counts, isComplete: true }
    },
    queryMs,
  )
}
