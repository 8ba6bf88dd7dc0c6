import type { NewLogin } from '../../application/ports/login-tokens.ts'
import type { LoginToken } from '../../domain/login-token.ts'
import type { HeldSession } from '../../domain/session.ts'
import type { Row, Session } from './connection/session.ts'
import { LISTED_TOKEN_COLUMNS, toBytes, toDate, toLoginToken } from './rows.ts'

/** Locks the row of a customer, as every login does. */
export const LOCK_CUSTOMER = {
  name: 'lock_customer',
  text: 'select password_hash, disabled_at from customers where id = $1 for no key update',
}

/** The unrevoked login tokens of a customer: the rows of the unique index on customer and slot. */
const LIST_SESSIONS = {
  name: 'list_sessions',
  text: `
    select ${LISTED_TOKEN_COLUMNS}, slot from login_tokens
     where customer_id = $1 and name = 'login' and revoked_at is null
     order by login_tokens.created_at desc, id desc`,
}

// The insert reads the count, so it runs after the update has removed the earlier tokens from the unique index.
const REPLACE = {
  name: 'replace_login_token',
  text: `
    with revoked as (
      update login_tokens set revoked_at = $6
       where customer_id = $2 and name = 'login' and revoked_at is null
       returning id),
    earlier as (select count(*)::int as count from revoked),
    inserted as (
      insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at, revoked_at, device)
      select $1, $2, $3, $4, $5, $6, $7, $8, $9 from earlier)
    select count from earlier`,
}

// Each part reads a count of the part before, so that a slot is free before another row takes it.
const ADMIT = {
  name: 'admit_login_token',
  text: `
    with revoked as (
      update login_tokens set revoked_at = $6
       where id = any($11::uuid[]) and revoked_at is null
       returning id),
    earlier as (select count(*)::int as count from revoked),
    moved as (
      update login_tokens set slot = moves.slot
        from earlier, unnest($12::uuid[], $13::smallint[]) as moves (id, slot)
       where login_tokens.id = moves.id
       returning login_tokens.id),
    freed as (select earlier.count, (select count(*) from moved) as moves from earlier),
    inserted as (
      insert into login_tokens
             (id, customer_id, name, token_hash, abilities, created_at, expires_at, revoked_at, device, slot)
      select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 from freed)
    select count from freed`,
}

/**
 * Stores a login token, as `LoginTokens.replace` describes it. Each statement after the lock sees the changes that the lock
 * waited for. One statement, or no lock, would lose logins.
 */
export function storeLogin(
  session: Session,
  { token, digest, verifiedHash, admit }: NewLogin,
): Promise<number | 'full' | null> {
  return session.transaction(async () => {
    const [owner] = (await session.query(LOCK_CUSTOMER, [token.customerId])).rows
    if (owner?.password_hash !== verifiedHash || owner.disabled_at !== null) return null
    const values = [...toValues(token, digest), token.device]
    if (admit === undefined) return countOf(await session.query(REPLACE, values))
    const held = (await session.query(LIST_SESSIONS, [token.customerId])).rows.map(toHeldSession)
    const admission = admit(held)
    if (admission === 'full') return 'full'
    const { slot, revoked, moved } = admission
    const moves = [moved.map(({ id }) => id), moved.map((move) => move.slot)]
    return countOf(await session.query(ADMIT, [...values, slot, revoked, ...moves]))
  })
}

/** Returns the customer's unrevoked login tokens, newest first. */
export async function listSessions(session: Session, customerId: string): Promise<readonly LoginToken[]> {
  return (await session.query(LIST_SESSIONS, [customerId])).rows.map(toLoginToken)
}

/** Returns the parameters with which a token is inserted. */
export function toValues(token: LoginToken, digest: string): readonly unknown[] {
  const { id, customerId, name, abilities, createdAtMs, expiresAtMs, revokedAtMs } = token
  return [
    id,
    customerId,
    name,
    toBytes(digest),
    abilities,
    toDate(createdAtMs),
    toDate(expiresAtMs),
    toDate(revokedAtMs),
  ]
}

function toHeldSession(row: Row): HeldSession {
  const { id, createdAtMs, expiresAtMs, lastUsedAtMs } = toLoginToken(row)
  return { id, createdAtMs, expiresAtMs, lastUsedAtMs, slot: row.slot as number }
}

function countOf({ rows }: { readonly rows: readonly Row[] }): number {
  return rows[0]?.count as number
}
