import type { Customers, PasswordChange } from '../../application/ports/customers.ts'
import { addCustomer, addCustomers } from './add-customers.ts'
import type { DatabasePool } from './connection/pool.ts'
import type { Session, Statement } from './connection/session.ts'
import { CUSTOMER_COLUMNS, toCredentials, toCustomer, toDate } from './rows.ts'
import { LOCK_CUSTOMER } from './store-login.ts'
import { deleteOldTokensOfCustomer } from './tokens-of-customer.ts'

const FIND_BY_EMAIL = {
  name: 'find_customer_by_email',
  text: `
    select ${CUSTOMER_COLUMNS}, customers.password_hash from customers
     where lower(email collate "C") = lower($1::text collate "C")`,
}

const FIND_BY_ID = {
  name: 'find_customer_by_id',
  text: `
    select ${CUSTOMER_COLUMNS} from customers
     where id = $1 or id = (select customer_id from login_tokens where login_tokens.id = $1)`,
}

const LIST = {
  name: 'list_customers',
  text: `
    select ${CUSTOMER_COLUMNS} from customers
     where lower(email collate "C") > lower($1::text collate "C")
     order by lower(email collate "C")
     limit $2`,
}

const SET_PASSWORD_HASH = {
  name: 'set_password_hash',
  text: 'update customers set password_hash = $2, updated_at = now() where id = $1',
}

const REHASH = {
  name: 'rehash_password',
  text: 'update customers set password_hash = $3, updated_at = now() where id = $1 and password_hash = $2',
}

const DISABLE = {
  name: 'disable_customer',
  text: 'update customers set disabled_at = coalesce(disabled_at, $2), updated_at = now() where id = $1',
}

const ENABLE = {
  name: 'enable_customer',
  text: 'update customers set disabled_at = null, updated_at = now() where id = $1',
}

// It deletes the remaining tokens, too.
const DELETE = { name: 'delete_customer', text: 'delete from customers where id = $1' }

const LOCK_TOKEN = {
  name: 'lock_token_to_keep',
  text: 'select id from login_tokens where id = $1 and customer_id = $2 and revoked_at is null for no key update',
}

const REVOKE_OTHERS = {
  name: 'revoke_other_tokens_of_customer',
  text: `
    with ended as (delete from one_time_tokens where customer_id = $1)
    update login_tokens set revoked_at = $2 where customer_id = $1 and id <> $3 and revoked_at is null`,
}

const REVOKE_ALL = {
  name: 'revoke_tokens_of_customer',
  text: `
    with ended as (delete from one_time_tokens where customer_id = $1)
    update login_tokens set revoked_at = $2 where customer_id = $1 and revoked_at is null`,
}

/** Customers in the table `customers`. */
export function postgresCustomers(pool: DatabasePool): Customers {
  return {
    findByEmail: (email, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const { rows } = await session.query(FIND_BY_EMAIL, [email])
        return rows[0] === undefined ? null : toCredentials(rows[0])
      }),

    findById: (id, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const { rows } = await session.query(FIND_BY_ID, [id])
        return rows[0] === undefined ? null : toCustomer(rows[0])
      }),

    add: (credentials, timeoutMs) => pool.run(timeoutMs, (session) => addCustomer(session, credentials)),

    addMany: (credentials, timeoutMs) => pool.run(timeoutMs, (session) => addCustomers(session, credentials)),

    list: ({ afterEmail, limit }, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        // No e-mail is empty. A condition on null would not be an index range under a generic plan.
        const { rows } = await session.query(LIST, [afterEmail ?? '', limit])
        return rows.map(toCustomer)
      }),

    setPasswordHash: (id, passwordHash, atMs, timeoutMs) =>
      pool.run(timeoutMs, (session) => changeAndRevoke(session, SET_PASSWORD_HASH, id, passwordHash, atMs)),

    changePassword: (change, timeoutMs) => pool.run(timeoutMs, (session) => changePassword(session, change)),

    rehash: (id, from, to, timeoutMs) => changesOne(REHASH, [id, from, to], timeoutMs),

    disable: (id, atMs, timeoutMs) =>
      pool.run(timeoutMs, (session) => changeAndRevoke(session, DISABLE, id, toDate(atMs), atMs)),

    enable: (id, timeoutMs) => changesOne(ENABLE, [id], timeoutMs),

    async delete(id, timeoutMs) {
      const remainingMs = await deleteOldTokensOfCustomer(pool, id, timeoutMs)
      return changesOne(DELETE, [id], remainingMs)
    },
  }

  function changesOne(statement: Statement, values: readonly unknown[], timeoutMs: number): Promise<boolean> {
    return pool.run(timeoutMs, async (session) => (await session.query(statement, values)).count === 1)
  }
}

// The change locks the customer's row, as a login does: a login that commits first is revoked here, and a later one sees
// the change.
async function changeAndRevoke(
  session: Session,
  change: Statement,
  id: string,
  value: unknown,
  atMs: number,
): Promise<number | null> {
  return session.transaction(async () => {
    const { count } = await session.query(change, [id, value])
    return count === 0 ? null : (await session.query(REVOKE_ALL, [id, toDate(atMs)])).count
  })
}

// The customer's row is locked first, as in a login. The token stays locked, so that no logout of it commits meanwhile.
async function changePassword(
  session: Session,
  { customerId, verifiedHash, passwordHash, keepTokenId, atMs }: PasswordChange,
): Promise<number | null> {
  return session.transaction(async () => {
    const [owner] = (await session.query(LOCK_CUSTOMER, [customerId])).rows
    if (owner?.password_hash !== verifiedHash || owner.disabled_at !== null) return null
    if ((await session.query(LOCK_TOKEN, [keepTokenId, customerId])).rows.length === 0) return null
    await session.query(SET_PASSWORD_HASH, [customerId, passwordHash])
    return (await session.query(REVOKE_OTHERS, [customerId, toDate(atMs), keepTokenId])).count
  })
}
