import type { LoginTokens, TokenChoice, TokenPage, TokenUse } from '../../application/ports/login-tokens.ts'
import type { Session } from './connection/session.ts'
import { LISTED_TOKEN_COLUMNS, toDate, toLoginToken } from './rows.ts'

const FOLDED_EMAIL = 'lower(customers.email collate "C")'

// The first condition follows from the others. It lets the index scan begin there.
const LIST_ALL = {
  name: 'list_tokens',
  text: `
    select ${LISTED_TOKEN_COLUMNS}, customers.email as owner_email,
           json_build_array(${FOLDED_EMAIL}, login_tokens.created_at::text, login_tokens.id)::text as place
      from customers join login_tokens on login_tokens.customer_id = customers.id
     where ${FOLDED_EMAIL} >= $1
       and (${FOLDED_EMAIL} > $1
            or (login_tokens.created_at, login_tokens.id) < ($2::timestamptz, $3::uuid))
     order by ${FOLDED_EMAIL}, login_tokens.created_at desc, login_tokens.id desc
     limit $4`,
}

// No e-mail is empty.
const BEFORE_ALL = ['', '-infinity', '00000000-0000-0000-0000-000000000000']

const LOCK_CUSTOMER = {
  name: 'lock_customer_of_tokens',
  text: 'select from customers where id = $1 for no key update',
}

const REVOKE_CHOSEN = {
  name: 'revoke_chosen_tokens',
  text: `
    update login_tokens set revoked_at = $4
     where customer_id = $1 and ($2::text is null or name = $2) and ($3::uuid is null or id = $3)
       and ($5::uuid is null or id <> $5)
       and revoked_at is null`,
}

const TOUCH = {
  name: 'touch_tokens',
  text: `
    with used as materialized (
      select id, max(at) as at, max(beyond) as beyond
        from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) as used (id, at, beyond)
       group by id),
    due as materialized (
      select login_tokens.id, used.at
        from used join login_tokens using (id)
       where login_tokens.last_used_at is null or login_tokens.last_used_at < used.beyond),
    free as materialized (
      select id from login_tokens
       where id = any(array(select id from due))
         for no key update skip locked),
    touched as (
      update login_tokens set last_used_at = greatest(last_used_at, due.at)
        from due
       where login_tokens.id = due.id and login_tokens.id = any(array(select id from free))
      returning login_tokens.id)
    select id from due where id not in (select id from touched)`,
}

/** Returns one page of all tokens with their owners' e-mails. */
export async function listTokens(
  session: Session,
  { after, limit }: Parameters<LoginTokens['list']>[0],
): Promise<TokenPage> {
  const from: readonly unknown[] = after === null ? BEFORE_ALL : JSON.parse(after)
  const { rows } = await session.query(LIST_ALL, [...from, limit])
  return {
    tokens: rows.map((row) => ({ token: toLoginToken(row), ownerEmail: row.owner_email as string })),
    end: rows.length < limit ? null : ((rows.at(-1)?.place as string | undefined) ?? null),
  }
}

/** Revokes the chosen tokens; returns their number. A login locks the same row, so it commits before or after this. */
export function revokeByCustomer(
  session: Session,
  customerId: string,
  { name, id, exceptId }: TokenChoice,
  atMs: number,
): Promise<number> {
  return session.transaction(async () => {
    await session.query(LOCK_CUSTOMER, [customerId])
    const values = [customerId, name ?? null, id ?? null, toDate(atMs), exceptId ?? null]
    return (await session.query(REVOKE_CHOSEN, values)).count
  })
}

/** Writes last uses to the rows that are not locked; returns the ids of the others. */
export async function touch(session: Session, uses: readonly TokenUse[]): Promise<readonly string[]> {
  const values = [
    uses.map(({ id }) => id),
    uses.map(({ atMs }) => toDate(atMs)),
    // Times are whole milliseconds.
    uses.map(({ atMs, minAdvanceMs = 1 }) => toDate(atMs - minAdvanceMs + 1)),
  ]
  return (await session.query(TOUCH, values)).rows.map(({ id }) => id as string)
}
