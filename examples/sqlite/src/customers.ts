import type { CustomerCredentials, Customers } from 'latchkey/ports'
import type { Session, SqliteDatabase, Value } from './database.ts'
import { CUSTOMER_COLUMNS, toBytes, toCredentials, toCustomer } from './rows.ts'

const FIND_BY_EMAIL = `
  select ${CUSTOMER_COLUMNS}, customers.password_hash from customers where lower(email) = lower(?)`

const FIND_BY_ID = `
  select ${CUSTOMER_COLUMNS} from customers
   where id = ? or id = (select customer_id from login_tokens where login_tokens.id = ?)`

const ADD = `
  insert into customers (id, email, name, password_hash, created_at, disabled_at) values (?, ?, ?, ?, ?, ?)
  on conflict (lower(email)) do nothing`

const LIST = `
  select ${CUSTOMER_COLUMNS} from customers where lower(email) > lower(?) order by lower(email) limit ?`

const SET_PASSWORD_HASH = 'update customers set password_hash = ? where id = ?'
const REHASH = 'update customers set password_hash = ? where id = ? and password_hash = ?'
const DISABLE = 'update customers set disabled_at = ifnull(disabled_at, ?) where id = ?'
const OWNER = 'select password_hash, disabled_at from customers where id = ?'
const UNREVOKED = 'select 1 from login_tokens where id = ? and customer_id = ? and revoked_at is null'
const REVOKE_OTHERS =
  'update login_tokens set revoked_at = ? where customer_id = ? and id <> ? and revoked_at is null'
const ENABLE = 'update customers set disabled_at = null where id = ?'
const DELETE = 'delete from customers where id = ?'
const USE_ONE_TIME_TOKEN = `
  delete from one_time_tokens where customer_id = ? and purpose = ? and token_hash = ? and expires_at > ?`
const END_ONE_TIME_TOKENS = 'delete from one_time_tokens where customer_id = ?'
const REVOKE_ALL = 'update login_tokens set revoked_at = ? where customer_id = ? and revoked_at is null'

/** Creates the store on the table `customers`. Write transactions are exclusive, so rows need no lock. */
export function sqliteCustomers(database: SqliteDatabase): Customers {
  return {
    findByEmail: (email, timeoutMs) =>
      database.read(timeoutMs, ({ rows }) => {
        const [row] = rows(FIND_BY_EMAIL, [email])
        return row === undefined ? null : toCredentials(row)
      }),

    findById: (id, timeoutMs) =>
      database.read(timeoutMs, ({ rows }) => {
        const [row] = rows(FIND_BY_ID, [id, id])
        return row === undefined ? null : toCustomer(row)
      }),

    add: (credentials, timeoutMs) =>
      database.write(timeoutMs, (session) => insertCustomer(session, credentials)),

    addMany: (all, timeoutMs) =>
      database.write(timeoutMs, (session) => all.map((credentials) => insertCustomer(session, credentials))),

    list: ({ afterEmail, limit }, timeoutMs) =>
      // No email is empty.
      database.read(timeoutMs, ({ rows }) => rows(LIST, [afterEmail ?? '', limit]).map(toCustomer)),

    setPasswordHash: (id, passwordHash, atMs, timeoutMs) =>
      database.write(timeoutMs, (session) =>
        changeAndRevoke(session, SET_PASSWORD_HASH, passwordHash, id, atMs),
      ),

    changePassword: ({ customerId, verifiedHash, passwordHash, keepTokenId, atMs }, timeoutMs) =>
      database.write(timeoutMs, ({ rows, change }) => {
        const [owner] = rows(OWNER, [customerId])
        if (owner?.password_hash !== verifiedHash || owner.disabled_at !== null) return null
        if (rows(UNREVOKED, [keepTokenId, customerId]).length === 0) return null
        change(SET_PASSWORD_HASH, [passwordHash, customerId])
        change(END_ONE_TIME_TOKENS, [customerId])
        return change(REVOKE_OTHERS, [atMs, customerId, keepTokenId])
      }),

    resetPassword: ({ customerId, purpose, digest, passwordHash, atMs }, timeoutMs) =>
      database.write(timeoutMs, (session) => {
        const [owner] = session.rows(OWNER, [customerId])
        if (owner === undefined || owner.disabled_at !== null) return null
        if (session.change(USE_ONE_TIME_TOKEN, [customerId, purpose, toBytes(digest), atMs]) === 0)
          return null
        return changeAndRevoke(session, SET_PASSWORD_HASH, passwordHash, customerId, atMs)
      }),

    rehash: (id, from, to, timeoutMs) => changesOne(REHASH, [to, id, from], timeoutMs),

    disable: (id, atMs, timeoutMs) =>
      database.write(timeoutMs, (session) => changeAndRevoke(session, DISABLE, atMs, id, atMs)),

    enable: (id, timeoutMs) => changesOne(ENABLE, [id], timeoutMs),

    delete: (id, timeoutMs) => changesOne(DELETE, [id], timeoutMs),
  }

  function changesOne(sql: string, values: readonly Value[], timeoutMs: number): Promise<boolean> {
    return database.write(timeoutMs, ({ change }) => change(sql, values) === 1)
  }
}

function insertCustomer({ change }: Session, { customer, passwordHash }: CustomerCredentials): boolean {
  const { id, email, name, createdAtMs, disabledAtMs } = customer
  return change(ADD, [id, email, name, passwordHash, createdAtMs, disabledAtMs]) === 1
}

function changeAndRevoke(
  { change }: Session,
  sql: string,
  value: Value,
  id: string,
  atMs: number,
): number | null {
  if (change(sql, [value, id]) === 0) return null
  change(END_ONE_TIME_TOKENS, [id])
  return change(REVOKE_ALL, [atMs, id])
}
