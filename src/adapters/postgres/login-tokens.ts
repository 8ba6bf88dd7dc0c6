import type { LoginTokens } from '../../application/ports/login-tokens.ts'
import type { OwnedToken } from '../../domain/login-token.ts'
import { batchedLookup } from './batched-lookup.ts'
import type { DatabasePool } from './connection/pool.ts'
import type { Row } from './connection/session.ts'
import { pruneTokens, revokeIdle } from './prune-tokens.ts'
import { revokeInSteps } from './revoke-issued-before.ts'
import { CUSTOMER_COLUMNS, LOGIN_TOKEN_COLUMNS, toBytes, toCustomer, toDate, toLoginToken } from './rows.ts'
import { listSessions, storeLogin, toValues } from './store-login.ts'
import { listTokens, revokeByCustomer, touch } from './token-maintenance.ts'
import { listByCustomer } from './tokens-of-customer.ts'

/** Small enough that the server works on one statement while this process prepares the next. */
const MAX_DIGESTS = 32

const FIND_BY_DIGESTS = {
  name: 'find_tokens_by_digests',
  text: `
    select asked.n::int, ${LOGIN_TOKEN_COLUMNS}, ${CUSTOMER_COLUMNS}
      from unnest($1::bytea[]) with ordinality as asked (token_hash, n)
      join login_tokens on login_tokens.token_hash = asked.token_hash
      join customers on customers.id = login_tokens.customer_id`,
}

// Locks the customer's row, so that a parallel disable either revokes the token or prevents it.
const ADD = {
  name: 'add_token',
  text: `
    insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at, revoked_at)
    select $1, customers.id, $3, $4, $5, $6, $7, $8 from customers
     where customers.id = $2 and customers.disabled_at is null
       for no key update`,
}

const REVOKE = {
  name: 'revoke_token',
  text: `
    update login_tokens set revoked_at = $2
     where id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`,
}

/** Tokens in the table `login_tokens`. */
export function postgresLoginTokens(pool: DatabasePool): LoginTokens {
  return {
    findByDigest: batchedLookup(
      (digests, timeoutMs) =>
        pool.run(timeoutMs, async (session) => {
          const { rows } = await session.query(FIND_BY_DIGESTS, [digests.map(toBytes)])
          return new Map(rows.map((row) => [digests[(row.n as number) - 1] ?? '', () => toOwnedToken(row)]))
        }),
      MAX_DIGESTS,
    ),

    listByCustomer: (customerId, timeoutMs) => listByCustomer(pool, customerId, timeoutMs),

    listSessions: (customerId, timeoutMs) =>
      pool.run(timeoutMs, (session) => listSessions(session, customerId)),

    replace: (login, timeoutMs) => pool.run(timeoutMs, (session) => storeLogin(session, login)),

    add: (token, digest, timeoutMs) =>
      pool.run(timeoutMs, async (session) => (await session.query(ADD, toValues(token, digest))).count === 1),

    revoke: ({ id }, atMs, timeoutMs) =>
      pool.run(timeoutMs, async (session) => (await session.query(REVOKE, [id, toDate(atMs)])).count === 1),

    list: (page, timeoutMs) => pool.run(timeoutMs, (session) => listTokens(session, page)),

    revokeByCustomer: (customerId, chosen, atMs, timeoutMs) =>
      pool.run(timeoutMs, (session) => revokeByCustomer(session, customerId, chosen, atMs)),

    revokeIssuedBefore: (beforeMs, atMs, steps) => revokeInSteps(pool, beforeMs, atMs, steps),

    touch: (uses, timeoutMs) => pool.run(timeoutMs, (session) => touch(session, uses)),

    prune: (endedBeforeMs, limit, timeoutMs) =>
      pool.run(timeoutMs, (session) => pruneTokens(session, endedBeforeMs, limit)),

    revokeIdle: (step, timeoutMs) => pool.run(timeoutMs, (session) => revokeIdle(session, step)),
  }
}

function toOwnedToken(row: Row): OwnedToken {
  return Object.freeze({ token: toLoginToken(row), customer: toCustomer(row) })
}
