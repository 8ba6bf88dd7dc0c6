import {
  foldedEmail,
  type IdleStep,
  type LoginTokens,
  type StepOptions,
  type TokenPage,
  type TokenUse,
} from 'latchkey/ports'
import type { MariadbDatabase, Session } from './database.ts'
import { LISTED_TOKEN_COLUMNS, toLoginToken } from './rows.ts'

/** Rows in one transaction: few enough that others do not wait long. */
const STEP = 1000

const LIST_ALL = `
  select ${LISTED_TOKEN_COLUMNS}, customers.email as owner_email
    from customers join login_tokens on login_tokens.customer_id = customers.id
   where customers.email_key >= ?
     and (customers.email_key > ? or login_tokens.created_at < ?
          or login_tokens.created_at = ? and login_tokens.id < ?)
   order by customers.email_key, login_tokens.created_at desc, login_tokens.id desc
   limit ?`

const STEP_END = `
  select max(id) as id from (select id from login_tokens where id > ? order by id limit ${STEP}) as step`

const REVOKE_STEP = `
  update login_tokens set revoked_at = ? where id > ? and id <= ? and created_at < ? and revoked_at is null`

const LOCK_UNLOCKED = 'select id from login_tokens where id = ? for update skip locked'
const EXISTS = 'select 1 from login_tokens where id = ?'
const TOUCH = 'update login_tokens set last_used_at = ? where id = ? and ifnull(last_used_at, 0) <= ?'

const LOCK_ENDED = `
  select id from login_tokens where ended_at < ? order by ended_at limit ? for update skip locked`
const DELETE = 'delete from login_tokens where id = ?'

const COUNT_ACTIVE = `
  select count(*) as active from login_tokens
   where revoked_at is null and (expires_at is null or expires_at > ?)`

/** Returns one page of all tokens with the emails of their owners. */
export async function listTokens(
  { rows }: Session,
  { after, limit }: Parameters<LoginTokens['list']>[0],
): Promise<TokenPage> {
  // No email is empty.
  const [email, atMs, id]: [string, number, string] = after === null ? ['', 0, ''] : JSON.parse(after)
  const key = Buffer.from(email)
  const page = (await rows(LIST_ALL, [key, key, atMs, atMs, id, `${limit}`])).map((row) => ({
    token: toLoginToken(row),
    ownerEmail: row.owner_email as string,
  }))
  const last = page.length < limit ? undefined : page.at(-1)
  const end = last && JSON.stringify([foldedEmail(last.ownerEmail), last.token.createdAtMs, last.token.id])
  return { tokens: page, end: end ?? null }
}

/** Revokes by age, in steps through the whole table in the order of the IDs, which never change. */
export async function revokeIssuedBefore(
  database: MariadbDatabase,
  beforeMs: number,
  atMs: number,
  { timeoutMs, onStep, signal }: StepOptions,
): Promise<number> {
  let revoked = 0
  for (let from: string | null = ''; from !== null; ) {
    if (signal?.aborted) throw signal.reason
    const start: string = from
    const step = await database.write(timeoutMs, async ({ rows, change }) => {
      const end = ((await rows(STEP_END, [start]))[0]?.id ?? null) as string | null
      return { end, count: end === null ? 0 : await change(REVOKE_STEP, [atMs, start, end, beforeMs]) }
    })
    revoked += step.count
    onStep?.(step.count)
    from = step.end
  }
  return revoked
}

/** Writes last uses. Returns the IDs of the tokens whose rows are locked. */
export async function touch(
  { rows, change }: Session,
  uses: readonly TokenUse[],
): Promise<readonly string[]> {
  const locked = new Set<string>()
  for (const { id, atMs, minAdvanceMs = 1 } of uses) {
    if ((await rows(LOCK_UNLOCKED, [id])).length > 0) await change(TOUCH, [atMs, id, atMs - minAdvanceMs])
    else if ((await rows(EXISTS, [id])).length > 0) locked.add(id)
  }
  return [...locked]
}

/** Counts the tokens that are neither revoked nor expired. */
export function countActiveTokens(
  database: MariadbDatabase,
  nowMs: number,
  timeoutMs: number,
): Promise<number> {
  return database.read(
    timeoutMs,
    async ({ rows }) => (await rows(COUNT_ACTIVE, [nowMs]))[0]?.active as number,
  )
}

/** Deletes revoked and expired tokens, the oldest first, except those that another transaction has locked. */
export async function prune(
  { rows, change }: Session,
  endedBeforeMs: number,
  limit: number,
): Promise<number> {
  const ended = await rows(LOCK_ENDED, [endedBeforeMs, `${limit}`])
  for (const { id } of ended) await change(DELETE, [id as string])
  return ended.length
}

const FIND_IDLE = `
  select id, greatest(created_at, ifnull(last_used_at, 0)) < ? as is_idle from login_tokens
   where id > ? and name = 'login' and revoked_at is null order by id limit ?`
const LOCK_IDLE = `
  select id from login_tokens
   where id = ? and revoked_at is null and greatest(created_at, ifnull(last_used_at, 0)) < ?
     for update skip locked`
const REVOKE = 'update login_tokens set revoked_at = ? where id = ?'

/** Revokes the idle ones of the next login tokens, in the order of the IDs. */
export async function revokeIdle(
  { rows, change }: Session,
  { unusedSinceMs, atMs, after, limit }: Parameters<LoginTokens['revokeIdle']>[0],
): Promise<IdleStep> {
  const step = await rows(FIND_IDLE, [unusedSinceMs, after ?? '', `${limit}`])
  let revoked = 0
  for (const { id, is_idle } of step) {
    if (is_idle !== 1 || (await rows(LOCK_IDLE, [id as string, unusedSinceMs])).length === 0) continue
    revoked += await change(REVOKE, [atMs, id as string])
  }
  return { revoked, end: step.length < limit ? null : (step.at(-1)?.id as string) }
}
