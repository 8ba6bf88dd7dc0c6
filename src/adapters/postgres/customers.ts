import type { Customers } from '../../application/ports/customers.ts'
import { addCustomer, addCustomers } from './add-customers.ts'
import type { DatabasePool } from './connection/pool.ts'
import type { Statement } from './connection/session.ts'
import { CUSTOMER_COLUMNS, toCredentials, toCustomer, toDate } from './rows.ts'
import { changeAndRevoke, changePassword, resetPassword, SET_PASSWORD_HASH } from './store-password.ts'
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

    resetPassword: (reset, timeoutMs) => pool.run(timeoutMs, (session) => resetPassword(session, reset)),

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
