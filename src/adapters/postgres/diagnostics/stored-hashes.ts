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

/**
 * Returns the number of stored hashes that are damaged, and of those with a higher cost than `cost`; null when the table
 * of customers does not exist yet.
 */
export function storedHashes(
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
