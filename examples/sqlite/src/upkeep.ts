import {
  type IdleStep,
  type LoginTokens,
  type StepOptions,
  type TokenPage,
  type TokenUse,
  Unavailable,
} from 'latchkey/ports'
import type { Session, SqliteDatabase, Value } from './database.ts'
import { LISTED_TOKEN_COLUMNS, toLoginToken } from './rows.ts'

/** Rows in one transaction: few enough that other processes do not wait long. */
const STEP = 1000

const LIST_ALL = `
  select ${LISTED_TOKEN_COLUMNS}, customers.email as owner_email,
         json_array(lower(customers.email), login_tokens.created_at, login_tokens.id) as place
    from customers join login_tokens on login_tokens.customer_id = customers.id
   where lower(customers.email) >= ?1
     and (lower(customers.email) > ?1 or (login_tokens.created_at, login_tokens.id) < (?2, ?3))
   order by lower(customers.email), login_tokens.created_at desc, login_tokens.id desc
   limit ?4`

// No email is empty.
const BEFORE_ALL = ['', 0, '']

const STEP_END = `select max(id) as id from (select id from login_tokens where id > ? order by id limit ${STEP})`

const REVOKE_STEP = `
  update login_tokens set revoked_at = ?1
   where id > ?2 and id <= ?3 and created_at < ?4 and revoked_at is null`

const TOUCH =
  'update login_tokens set last_used_at = ?1 where id = ?2 and ifnull(last_used_at <= ?1 - ?3, true)'

// The expression is that of the index.
const ENDED_AT = 'min(ifnull(revoked_at, expires_at), ifnull(expires_at, revoked_at))'
const PRUNE = `
  delete from login_tokens where id in (
    select id from login_tokens where ${ENDED_AT} < ? order by ${ENDED_AT} limit ?)`

const COUNT_ACTIVE = `
  select count(*) as active from login_tokens
   where revoked_at is null and (expires_at is null or expires_at > ?)`

/** Returns one page of all tokens with the emails of their owners. */
export function listTokens(
  { rows }: Session,
  { after, limit }: Parameters<LoginTokens['list']>[0],
): TokenPage {
  const from: readonly Value[] = after === null ? BEFORE_ALL : JSON.parse(after)
  const page = rows(LIST_ALL, [...from, limit])
  return {
    tokens: page.map((row) => ({ token: toLoginToken(row), ownerEmail: row.owner_email as string })),
    end: page.length < limit ? null : ((page.at(-1)?.place as string | undefined) ?? null),
  }
}

/** Revokes by age, in steps through the whole table in the order of the IDs, which never change. */
export async function revokeIssuedBefore(
  database: SqliteDatabase,
  beforeMs: number,
  atMs: number,
  { timeoutMs, onStep, signal }: StepOptions,
): Promise<number> {
  let revoked = 0
  for (let from: string | null = ''; from !== null; ) {
    if (signal?.aborted) throw signal.reason
    const start: string = from
    const step = await database.write(timeoutMs, ({ rows, change }) => {
      const end = (rows(STEP_END, [start])[0]?.id ?? null) as string | null
      return { end, count: end === null ? 0 : change(REVOKE_STEP, [atMs, start, end, beforeMs]) }
    })
    revoked += step.count
    onStep?.(step.count)
    from = step.end
  }
  return revoked
}

/** Writes last uses. When the file is locked, returns the IDs of all, to be written later. */
export async function touch(database: SqliteDatabase, uses: readonly TokenUse[]): Promise<readonly string[]> {
  try {
    await database.write(0, ({ change }) => {
      for (const { id, atMs, minAdvanceMs = 1 } of uses) change(TOUCH, [atMs, id, minAdvanceMs])
    })
    return []
  } catch (error) {
    if (error instanceof Unavailable) return uses.map(({ id }) => id)
    throw error
  }
}

/** Counts the tokens that are neither revoked nor expired. */
export async function countActiveTokens(
  database: SqliteDatabase,
  nowMs: number,
  timeoutMs: number,
): Promise<number> {
  const [row] = await database.read(timeoutMs, ({ rows }) => rows(COUNT_ACTIVE, [nowMs]))
  return row?.active as number
}

/** Deletes revoked and expired tokens, the oldest first. */
export function prune({ change }: Session, endedBeforeMs: number, limit: number): number {
  return change(PRUNE, [endedBeforeMs, limit])
}

const REVOKE_IDLE = `
  update login_tokens set revoked_at = ?
   where name = 'login' and revoked_at is null and max(created_at, ifnull(last_used_at, 0)) < ?`

/** Revokes all idle login tokens in one step: SQLite reads a table of this size in milliseconds. */
export function revokeIdle(
  { change }: Session,
  { unusedSinceMs, atMs }: Parameters<LoginTokens['revokeIdle']>[0],
): IdleStep {
  return { revoked: change(REVOKE_IDLE, [atMs, unusedSinceMs]), end: null }
}
