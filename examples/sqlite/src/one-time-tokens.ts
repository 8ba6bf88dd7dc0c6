import type { OneTimeTokens } from 'latchkey/ports'
import type { SqliteDatabase } from './database.ts'
import { CUSTOMER_COLUMNS, toBytes, toCustomer } from './rows.ts'

const ADD = `
  insert into one_time_tokens (customer_id, purpose, token_hash, expires_at)
  select id, ?2, ?3, ?4 from customers where id = ?1 and disabled_at is null
  on conflict (customer_id, purpose) do update
     set token_hash = excluded.token_hash, expires_at = excluded.expires_at`

const FIND = `
  select ${CUSTOMER_COLUMNS} from one_time_tokens join customers on customers.id = one_time_tokens.customer_id
   where token_hash = ? and purpose = ? and expires_at > ? and disabled_at is null`

const DELETE = 'delete from one_time_tokens where token_hash = ?'

/** Creates the store on the table `one_time_tokens`. Write transactions are exclusive, so rows need no lock. */
export function sqliteOneTimeTokens(database: SqliteDatabase): OneTimeTokens {
  return {
    add: ({ customerId, purpose, digest, expiresAtMs }, timeoutMs) =>
      database.write(
        timeoutMs,
        ({ change }) => change(ADD, [customerId, purpose, toBytes(digest), expiresAtMs]) === 1,
      ),

    find: ({ digest, purpose, atMs }, timeoutMs) =>
      database.read(timeoutMs, ({ rows }) => {
        const [row] = rows(FIND, [toBytes(digest), purpose, atMs])
        return row === undefined ? null : toCustomer(row)
      }),

    use: ({ digest, purpose, atMs }, timeoutMs) =>
      database.write(timeoutMs, ({ rows, change }) => {
        const [row] = rows(FIND, [toBytes(digest), purpose, atMs])
        if (row === undefined) return null
        change(DELETE, [toBytes(digest)])
        return toCustomer(row)
      }),
  }
}
