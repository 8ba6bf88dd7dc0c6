import type { CustomerCredentials, Customers } from 'latchkey/ports'
import type { Session, SqliteDatabase, Value } from './database.ts'
import { CUSTOMER_COLUMNS, toCredentials, toCustomer } from './rows.ts'

const FIND_BY_EMAIL = `
  select ${CUSTOMER_COLUMNS}, customers.password_hash from customers where lower(email) = lower(?)`

const ADD = `
  insert into customers (id, email, name, password_hash, created_at, disabled_at) values (?, ?, ?, ?, ?, ?)
  on conflict (lower(email)) do nothing`

const LIST = `
  select ${CUSTOMER_COLUMNS} from customers where lower(email) > lower(?) order by lower(email) limit ?`

const SET_PASSWORD_HASH = 'update customers set password_hash = ? where id = ?'
const REHASH = 'update customers set password_hash = ? where id = ? and password_hash = ?'
const DISABLE = 'update customers set disabled_at = ifnull(disabled_at, ?) where id = ?'
const ENABLE = 'update customers set disabled_at = null where id = ?'
const DELETE = 'delete from customers where id = ?'
const REVOKE_ALL = 'update login_tokens set revoked_at = ? where customer_id = ? and revoked_at is null'

/** Creates the store on the table `customers`. Write transactions are exclusive, so rows need no lock. */
export function sqliteCustomers(database: SqliteDatabase): Customers {
  return {
    findByEmail: (email, timeoutMs) =>
      database.read(timeoutMs, ({ rows }) => {
        const [row] = rows(FIND_BY_EMAIL, [email])
        return row === undefined ? null : toCredentials(row)
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
  return change(sql, [value, id]) === 0 ? null : change(REVOKE_ALL, [atMs, id])
}
