import type { OneTimeTokens, PresentedOneTimeToken } from '../../application/ports/one-time-tokens.ts'
import type { Customer } from '../../domain/customer.ts'
import type { DatabasePool } from './connection/pool.ts'
import type { Statement } from './connection/session.ts'
import { CUSTOMER_COLUMNS, toBytes, toCustomer, toDate } from './rows.ts'

// Locks the customer's row, so that a parallel disable or new password either deletes the token or comes first.
const ADD = {
  name: 'add_one_time_token',
  text: `
    insert into one_time_tokens (customer_id, purpose, token_hash, expires_at)
    select customers.id, $2, $3, $4 from customers
     where customers.id = $1 and customers.disabled_at is null
       for no key update
    on conflict (customer_id, purpose) do update
       set token_hash = excluded.token_hash, expires_at = excluded.expires_at`,
}

const VALID = `
  one_time_tokens.token_hash = $1 and one_time_tokens.purpose = $2 and one_time_tokens.expires_at > $3
   and customers.id = one_time_tokens.customer_id and customers.disabled_at is null`

const FIND = {
  name: 'find_one_time_token',
  text: `select ${CUSTOMER_COLUMNS} from one_time_tokens, customers where ${VALID}`,
}

const USE = {
  name: 'use_one_time_token',
  text: `delete from one_time_tokens using customers where ${VALID} returning ${CUSTOMER_COLUMNS}`,
}

/** One-time tokens in the table `one_time_tokens`. */
export function postgresOneTimeTokens(pool: DatabasePool): OneTimeTokens {
  return {
    add: ({ customerId, purpose, digest, expiresAtMs }, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const values = [customerId, purpose, toBytes(digest), toDate(expiresAtMs)]
        return (await session.query(ADD, values)).count === 1
      }),
    find: (presented, timeoutMs) => select(FIND, presented, timeoutMs),
    use: (presented, timeoutMs) => select(USE, presented, timeoutMs),
  }

  function select(
    statement: Statement,
    { digest, purpose, atMs }: PresentedOneTimeToken,
    timeoutMs: number,
  ): Promise<Customer | null> {
    return pool.run(timeoutMs, async (session) => {
      const { rows } = await session.query(statement, [toBytes(digest), purpose, toDate(atMs)])
      return rows[0] === undefined ? null : toCustomer(rows[0])
    })
  }
}
