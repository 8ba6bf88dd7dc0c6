import type { IdleStep, LoginTokens } from '../../application/ports/login-tokens.ts'
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

// A walk over the unique index of sessions. An index on the last use would make each write of one more expensive.
const FIND_IDLE = {
  name: 'find_idle_sessions',
  text: `
    select id, json_build_array(customer_id, slot)::text as place,
           greatest(created_at, last_used_at) < $3 as is_idle
      from login_tokens
     where name = 'login' and revoked_at is null and (customer_id, slot) > ($1::uuid, $2::smallint)
     order by customer_id, slot
     limit $4`,
}

// A use may have been written meanwhile.
const REVOKE_IDLE = {
  name: 'revoke_idle_sessions',
  text: `
    update login_tokens set revoked_at = $3
     where id = any(array(
             select id from login_tokens
              where id = any($1::uuid[]) and revoked_at is null and greatest(created_at, last_used_at) < $2
                for no key update skip locked))`,
}

const BEFORE_ALL = ['00000000-0000-0000-0000-000000000000', 0]

/** Revokes the idle ones of the next sessions, in statements that publish the single tokens. */
export async function revokeIdle(
  session: Session,
  { unusedSinceMs, atMs, after, limit }: Parameters<LoginTokens['revokeIdle']>[0],
): Promise<IdleStep> {
  const from: readonly unknown[] = after === null ? BEFORE_ALL : JSON.parse(after)
  const { rows } = await session.query(FIND_IDLE, [...from, toDate(unusedSinceMs), limit])
  const idle = rows.filter(({ is_idle }) => is_idle === true)
  let revoked = 0
  for (let i = 0; i < idle.length; i += MAX_ANNOUNCED) {
    const ids = idle.slice(i, i + MAX_ANNOUNCED).map(({ id }) => id)
    revoked += (await session.query(REVOKE_IDLE, [ids, toDate(unusedSinceMs), toDate(atMs)])).count
  }
  return { revoked, end: rows.length < limit ? null : ((rows.at(-1)?.place as string | undefined) ?? null) }
}
