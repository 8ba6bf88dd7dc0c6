import type { OneTimeTokens } from 'latchkey/ports'
import type { MariadbDatabase } from './database.ts'
import { CUSTOMER_COLUMNS, toBytes, toCustomer } from './rows.ts'

const LOCK_CUSTOMER = 'select disabled_at from customers where id = ? for update'

const ADD = `
  insert into one_time_tokens (customer_id, purpose, token_hash, expires_at) values (?, ?, ?, ?)
  on duplicate key update token_hash = values(token_hash), expires_at = values(expires_at)`

const FIND = `
  select ${CUSTOMER_COLUMNS} from one_time_tokens join customers on customers.id = one_time_tokens.customer_id
   where token_hash = ? and purpose = ? and expires_at > ? and disabled_at is null`

const DELETE = 'delete from one_time_tokens where customer_id = ? and purpose = ? and token_hash = ?'

/** Creates the store on the table `one_time_tokens`. A change locks the row of the customer first, as those of customers do. */
export function mariadbOneTimeTokens(database: MariadbDatabase): OneTimeTokens {
  return {
    add: ({ customerId, purpose, digest, expiresAtMs }, timeoutMs) =>
      database.write(timeoutMs, async ({ rows, change }) => {
        const [owner] = await rows(LOCK_CUSTOMER, [customerId])
        if (owner === undefined || owner.disabled_at !== null) return false
        await change(ADD, [customerId, purpose, toBytes(digest), expiresAtMs])
        return true
      }),

    find: ({ digest, purpose, atMs }, timeoutMs) =>
      database.read(timeoutMs, async ({ rows }) => {
        const [row] = await rows(FIND, [toBytes(digest), purpose, atMs])
        return row === undefined ? null : toCustomer(row)
      }),

    use: ({ digest, purpose, atMs }, timeoutMs) =>
      database.write(timeoutMs, async ({ rows, change }) => {
        const [row] = await rows(FIND, [toBytes(digest), purpose, atMs])
        if (row === undefined) return null
        const customer = toCustomer(row)
        await rows(LOCK_CUSTOMER, [customer.id])
        // The row was read without a lock: another call may have deleted it.
        return (await change(DELETE, [customer.id, purpose, toBytes(digest)])) === 1 ? customer : null
      }),
  }
}
