import type { DatabasePool } from 'latchkey/adapters/postgres'

const INSERT = { name: 'record_start', text: 'insert into shop_starts default values' }
const COUNT = { name: 'count_starts', text: 'select count(*)::int as count from shop_starts' }

/** Records that the service has started, once for all of its processes. */
export async function recordStart(pool: DatabasePool): Promise<void> {
  await pool.run(5000, (session) => session.query(INSERT, []))
}

/** Returns how often the service has started. */
export async function countStarts(pool: DatabasePool, timeoutMs: number): Promise<number> {
  const { rows } = await pool.run(timeoutMs, (session) => session.query(COUNT, []))
  return Number(rows[0]?.count)
}
