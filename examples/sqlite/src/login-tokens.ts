import { type Digest, type LoginToken, type LoginTokens, type OwnedToken, replaceAll } from 'latchkey/ports'
import type { Row, Session, SqliteDatabase } from './database.ts'
import {
  CUSTOMER_COLUMNS,
  LISTED_TOKEN_COLUMNS,
  TOKEN_COLUMNS,
  toBytes,
  toCustomer,
  toLoginToken,
} from './rows.ts'
import { listTokens, prune, revokeIdle, revokeIssuedBefore, touch } from './upkeep.ts'

const FIND_BY_DIGEST = `
  select ${TOKEN_COLUMNS}, ${CUSTOMER_COLUMNS}
    from login_tokens join customers on customers.id = login_tokens.customer_id
   where token_hash = ?`

const LIST_OF = `
  select ${LISTED_TOKEN_COLUMNS} from login_tokens where customer_id = ? order by created_at desc, id desc`

const LIST_SESSIONS = `
  select ${LISTED_TOKEN_COLUMNS}, login_tokens.slot from login_tokens
   where customer_id = ? and name = 'login' and revoked_at is null order by created_at desc, id desc`

const OWNER = 'select password_hash, disabled_at from customers where id = ?'

const INSERT = `
  insert into login_tokens
         (id, customer_id, name, token_hash, abilities, created_at, expires_at, revoked_at, device, slot)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const MOVE = 'update login_tokens set slot = ? where id = ?'
const REVOKE_ONE = 'update login_tokens set revoked_at = ? where id = ? and revoked_at is null'

const REVOKE = `
  update login_tokens set revoked_at = ?1
   where id = ?2 and revoked_at is null and (expires_at is null or expires_at > ?1)`

const REVOKE_CHOSEN = `
  update login_tokens set revoked_at = ?
   where customer_id = ? and name = ifnull(?, name) and id = ifnull(?, id) and id <> ifnull(?, '')
     and revoked_at is null`

/** Creates the store on the table `login_tokens`. Write transactions are exclusive, so rows need no lock. */
export function sqliteLoginTokens(database: SqliteDatabase): LoginTokens {
  return {
    findByDigest: (digest, timeoutMs) =>
      database.read(timeoutMs, ({ rows }) => {
        const [row] = rows(FIND_BY_DIGEST, [toBytes(digest)])
        return row === undefined ? null : toOwnedToken(row)
      }),

    listByCustomer: (customerId, timeoutMs) =>
      database.read(timeoutMs, ({ rows }) => rows(LIST_OF, [customerId]).map(toLoginToken)),

    listSessions: (customerId, timeoutMs) =>
      database.read(timeoutMs, ({ rows }) => rows(LIST_SESSIONS, [customerId]).map(toLoginToken)),

    list: (page, timeoutMs) => database.read(timeoutMs, (session) => listTokens(session, page)),

    replace: ({ token, digest, verifiedHash, admit = replaceAll }, timeoutMs) =>
      database.write(timeoutMs, (session) => {
        const [owner] = session.rows(OWNER, [token.customerId])
        if (owner?.password_hash !== verifiedHash || owner.disabled_at !== null) return null
        const held = session.rows(LIST_SESSIONS, [token.customerId])
        const admission = admit(held.map((row) => ({ ...toLoginToken(row), slot: row.slot as number })))
        if (admission === 'full') return 'full'
        let revoked = 0
        for (const id of admission.revoked) revoked += session.change(REVOKE_ONE, [token.createdAtMs, id])
        for (const { id, slot } of admission.moved) session.change(MOVE, [slot, id])
        insert(session, token, digest, admission.slot)
        return revoked
      }),

    add: (token, digest, timeoutMs) =>
      database.write(timeoutMs, (session) => {
        const [owner] = session.rows(OWNER, [token.customerId])
        if (owner === undefined || owner.disabled_at !== null) return false
        insert(session, token, digest)
        return true
      }),

    revoke: ({ id }, atMs, timeoutMs) =>
      database.write(timeoutMs, ({ change }) => change(REVOKE, [atMs, id]) === 1),

    revokeByCustomer: (customerId, { name, id, exceptId }, atMs, timeoutMs) =>
      database.write(timeoutMs, ({ change }) =>
        change(REVOKE_CHOSEN, [atMs, customerId, name ?? null, id ?? null, exceptId ?? null]),
      ),

    revokeIssuedBefore: (beforeMs, atMs, steps) => revokeIssuedBefore(database, beforeMs, atMs, steps),

    touch: (uses) => touch(database, uses),

    prune: (endedBeforeMs, limit, timeoutMs) =>
      database.write(timeoutMs, (session) => prune(session, endedBeforeMs, limit)),

    revokeIdle: (step, timeoutMs) => database.write(timeoutMs, (session) => revokeIdle(session, step)),
  }
}

function toOwnedToken(row: Row): OwnedToken {
  return Object.freeze({ token: toLoginToken(row), customer: toCustomer(row) })
}

function insert({ change }: Session, token: LoginToken, digest: Digest, slot = 1): void {
  const { id, customerId, name, abilities, createdAtMs, expiresAtMs, revokedAtMs, device } = token
  const json = JSON.stringify(abilities)
  const times = [createdAtMs, expiresAtMs, revokedAtMs]
  change(INSERT, [id, customerId, name, toBytes(digest), json, ...times, device, slot])
}
