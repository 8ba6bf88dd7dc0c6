import type { Session } from './connection/session.ts'
import { toDate } from './rows.ts'

/** The advisory lock of pruning: only one instance or command prunes a database at a time. */
export const PRUNE_LOCK = 7_501_293

const TRY_PRUNE_LOCK = {
  name: 'try_prune_lock',
  text: 'select pg_try_advisory_xact_lock($1) as is_mine',
}

const LOCK_ENDED = {
  name: 'lock_ended_tokens',
  text: `
    select id, revoked_at is null as is_announced from login_tokens
     where least(revoked_at, expires_at) < $1
     order by least(revoked_at, expires_at)
     limit $2
       for update skip locked`,
}

const DELETE = { name: 'delete_tokens', text: 'delete from login_tokens where id = any($1::uuid[])' }

/** The triggers publish the single tokens of a statement up to this number; beyond it, all instances clear their caches. */
const MAX_ANNOUNCED = 100

/** Deletes ended tokens, those that ended first first; returns their number, or null while another transaction prunes. */
export function pruneTokens(session: Session, endedBeforeMs: number, limit: number): Promise<number | null> {
  return session.transaction(async () => {
    const [lock] = (await session.query(TRY_PRUNE_LOCK, [PRUNE_LOCK])).rows
    if (lock?.is_mine !== true) return null
    const { rows } = await session.query(LOCK_ENDED, [toDate(endedBeforeMs), limit])
    const silent = rows.filter(({ is_announced }) => is_announced === false)
    await session.query(DELETE, [silent.map(({ id }) => id)])
    const published = rows.filter(({ is_announced }) => is_announced === true)
    for (let i = 0; i < published.length; i += MAX_ANNOUNCED) {
      await session.query(DELETE, [published.slice(i, i + MAX_ANNOUNCED).map(({ id }) => id)])
    }
    return rows.length
  })
}
