import { type CustomerCredentials, type Customers, foldedEmail } from 'latchkey/ports'
import { errorNumber, type MariadbDatabase, type Session, type Value } from './database.ts'
import { CUSTOMER_COLUMNS, toBytes, toCredentials, toCustomer } from './rows.ts'

const FIND_BY_EMAIL = `select ${CUSTOMER_COLUMNS}, customers.password_hash from customers where email_key = ?`

const FIND_BY_ID = `
  select ${CUSTOMER_COLUMNS} from customers
   where id = ? or id = (select customer_id from login_tokens where login_tokens.id = ?)`

const ADD = `
  insert into customers (id, email, email_key, name, password_hash, created_at, disabled_at)
  values (?, ?, ?, ?, ?, ?, ?)`

const LIST = `
  select ${CUSTOMER_COLUMNS} from customers where email_key > ? order by email_key limit ?`

const SET_PASSWORD_HASH = 'update customers set password_hash = ? where id = ?'
const REHASH = 'update customers set password_hash = ? where id = ? and password_hash = ?'
const DISABLE = 'update customers set disabled_at = ifnull(disabled_at, ?) where id = ?'
const LOCK_OWNER = 'select password_hash, disabled_at from customers where id = ? for update'
const LOCK_KEPT =
  'select 1 from login_tokens where id = ? and customer_id = ? and revoked_at is null for update'
const REVOKE_OTHERS =
  'update login_tokens set revoked_at = ? where customer_id = ? and id <> ? and revoked_at is null'
const ENABLE = 'update customers set disabled_at = null where id = ?'
const DELETE = 'delete from customers where id = ?'
const USE_ONE_TIME_TOKEN = `
  delete from one_time_tokens where customer_id = ? and purpose = ? and token_hash = ? and expires_at > ?`
const END_ONE_TIME_TOKENS = 'delete from one_time_tokens where customer_id = ?'
const REVOKE_ALL = 'update login_tokens set revoked_at = ? where customer_id = ? and revoked_at is null'

const DUPLICATE = 1062

/** Creates the store on the table `customers`. A change locks the row of the customer before those of the tokens. */
export function mariadbCustomers(database: MariadbDatabase): Customers {
  return {
    findByEmail: (email, timeoutMs) =>
      database.read(timeoutMs, async ({ rows }) => {
        const [row] = await rows(FIND_BY_EMAIL, [toEmailKey(email)])
        return row === undefined ? null : toCredentials(row)
      }),

    findById: (id, timeoutMs) =>
      database.read(timeoutMs, async ({ rows }) => {
        const [row] = await rows(FIND_BY_ID, [id, id])
        return row === undefined ? null : toCustomer(row)
      }),

    add: (credentials, timeoutMs) =>
      database.write(timeoutMs, (session) => insertCustomer(session, credentials)),

    addMany: (all, timeoutMs) => database.write(timeoutMs, (session) => insertInOrder(session, all)),

    list: ({ afterEmail, limit }, timeoutMs) =>
      database.read(timeoutMs, async ({ rows }) =>
        // No email is empty.
        (await rows(LIST, [toEmailKey(afterEmail ?? ''), `${limit}`])).map(toCustomer),
      ),

    setPasswordHash: (id, passwordHash, atMs, timeoutMs) =>
      database.write(timeoutMs, (session) =>
        changeAndRevoke(session, SET_PASSWORD_HASH, passwordHash, id, atMs),
      ),

    changePassword: ({ customerId, verifiedHash, passwordHash, keepTokenId, atMs }, timeoutMs) =>
      database.write(timeoutMs, async ({ rows, change }) => {
        const [owner] = await rows(LOCK_OWNER, [customerId])
        if (owner?.password_hash !== verifiedHash || owner.disabled_at !== null) return null
        if ((await rows(LOCK_KEPT, [keepTokenId, customerId])).length === 0) return null
        await change(SET_PASSWORD_HASH, [passwordHash, customerId])
        await change(END_ONE_TIME_TOKENS, [customerId])
        return change(REVOKE_OTHERS, [atMs, customerId, keepTokenId])
      }),

    resetPassword: ({ customerId, purpose, digest, passwordHash, atMs }, timeoutMs) =>
      database.write(timeoutMs, async (session) => {
        const [owner] = await session.rows(LOCK_OWNER, [customerId])
        if (owner === undefined || owner.disabled_at !== null) return null
        const presented = [customerId, purpose, toBytes(digest), atMs]
        if ((await session.change(USE_ONE_TIME_TOKEN, presented)) === 0) return null
        return changeAndRevoke(session, SET_PASSWORD_HASH, passwordHash, customerId, atMs)
      }),

    rehash: (id, from, to, timeoutMs) => changesOne(REHASH, [to, id, from], timeoutMs),

    disable: (id, atMs, timeoutMs) =>
      database.write(timeoutMs, (session) => changeAndRevoke(session, DISABLE, atMs, id, atMs)),

    enable: (id, timeoutMs) => changesOne(ENABLE, [id], timeoutMs),

    delete: (id, timeoutMs) => changesOne(DELETE, [id], timeoutMs),
  }

  function changesOne(sql: string, values: readonly Value[], timeoutMs: number): Promise<boolean> {
    return database.write(timeoutMs, async ({ change }) => (await change(sql, values)) === 1)
  }
}

/** Inserts in the order of the keys, so that parallel batches do not wait for each other in a circle. */
async function insertInOrder(session: Session, all: readonly CustomerCredentials[]): Promise<boolean[]> {
  const order = all
    .map(({ customer }, index) => ({ index, key: toEmailKey(customer.email) }))
    .sort((one, other) => Buffer.compare(one.key, other.key))
  const stored: boolean[] = []
  for (const { index } of order)
    stored[index] = await insertCustomer(session, all[index] as CustomerCredentials)
  return stored
}

async function insertCustomer(
  { rows, change }: Session,
  { customer, passwordHash }: CustomerCredentials,
): Promise<boolean> {
  const { id, email, name, createdAtMs, disabledAtMs } = customer
  const key = toEmailKey(email)
  try {
    await change(ADD, [id, email, key, name, passwordHash, createdAtMs, disabledAtMs])
    return true
  } catch (error) {
    // MariaDB has undone this statement only: the transaction goes on. Without such an e-mail, the id is taken.
    if (errorNumber(error) === DUPLICATE && (await rows(FIND_BY_EMAIL, [key])).length > 0) return false
    throw error
  }
}

async function changeAndRevoke(
  { change }: Session,
  sql: string,
  value: Value,
  id: string,
  atMs: number,
): Promise<number | null> {
  if ((await change(sql, [value, id])) === 0) return null
  await change(END_ONE_TIME_TOKENS, [id])
  return change(REVOKE_ALL, [atMs, id])
}

function toEmailKey(email: string): Buffer {
  return Buffer.from(foldedEmail(email))
}
