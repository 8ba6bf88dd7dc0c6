import type { ImportedToken, ImportedTokens, ImportOutcome } from '../../application/ports/imported-tokens.ts'
import { foldedEmail } from '../../domain/customer.ts'
import type { DatabasePool } from './connection/pool.ts'
import { toBytes, toDate } from './rows.ts'

const OWNERS = `
  select id, lower(email collate "C") as email, disabled_at from customers
   where lower(email collate "C") = any($1::text[])`

// Whether the digest was stored before: rows that the same statement inserts are not in its snapshot.
const EXISTS = 'exists (select from login_tokens where token_hash = given.token_hash)'

// The unnamed statement is planned for the number of its tokens; a generic plan would join them in quadratic time.
// Customers are locked in one order, so that a parallel disable either revokes the tokens or prevents them.
const ADD_MANY = {
  name: '',
  text: `
    with given as materialized (
      select * from unnest($1::text[], $2::bytea[], $3::uuid[], $4::text[], $5::text[], $6::float8[], $7::float8[],
                           $8::float8[], $9::text[], $10::text[])
             with ordinality as given (email, token_hash, id, name, abilities, created_at, expires_at, last_used_at, form,
                                       external_id, n)),
    owners as materialized (${OWNERS} order by id for no key update),
    added as (
      insert into login_tokens
        (id, customer_id, name, token_hash, abilities, created_at, expires_at, last_used_at, form, external_id)
      select given.id, owners.id, name, token_hash, array(select json_array_elements_text(abilities::json)),
             to_timestamp(created_at / 1000), to_timestamp(expires_at / 1000), to_timestamp(last_used_at / 1000), form,
             external_id
        from given join owners using (email)
       where disabled_at is null
       order by token_hash, n
          on conflict (token_hash) do nothing
      returning id)
    select case when ${EXISTS} then 'exists' when owners.id is null then 'no_customer'
                when owners.disabled_at is not null then 'disabled' when added.id is not null then 'added'
                else 'exists' end as outcome
      from given left join owners using (email) left join added on added.id = given.id
     order by n`,
}

const CHECK_MANY = {
  name: '',
  text: `
    with given as materialized (
      select * from unnest($1::text[], $2::bytea[]) with ordinality as given (email, token_hash, n)),
    owners as materialized (${OWNERS})
    select case when ${EXISTS} then 'exists' when owners.id is null then 'no_customer'
                when owners.disabled_at is not null then 'disabled'
                when row_number() over (partition by token_hash, owners.id is null, owners.disabled_at is null
                                        order by n) = 1 then 'added'
                else 'exists' end as outcome
      from given left join owners using (email)
     order by n`,
}

const LIST_UNREVOKED = {
  name: 'list_imported_tokens',
  text: `
    select id, encode(token_hash, 'hex') as digest from login_tokens
     where form = $1 and form is not null and id > $2 and revoked_at is null
     order by id limit $3`,
}

const REVOKE_MANY = {
  name: 'revoke_imported_tokens',
  text: 'update login_tokens set revoked_at = $2 where id = any($1::uuid[]) and revoked_at is null',
}

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

/** Imported tokens in the table `login_tokens`. */
export function postgresImportedTokens(pool: DatabasePool): ImportedTokens {
  return {
    addMany: (tokens, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const fields = tokens.map(({ token }) => token)
        const { rows } = await session.query(ADD_MANY, [
          ...toGiven(tokens),
          fields.map(({ id }) => id),
          fields.map(({ name }) => name),
          fields.map(({ abilities }) => JSON.stringify(abilities)),
          fields.map(({ createdAtMs }) => createdAtMs),
          fields.map(({ expiresAtMs }) => expiresAtMs),
          fields.map(({ lastUsedAtMs }) => lastUsedAtMs),
          tokens.map(({ form }) => form),
          tokens.map(({ externalId }) => externalId),
        ])
        return rows.map(({ outcome }) => outcome as ImportOutcome)
      }),

    checkMany: (tokens, timeoutMs) =>
      pool.run(timeoutMs, async (session) =>
        (await session.query(CHECK_MANY, toGiven(tokens))).rows.map(
          ({ outcome }) => outcome as ImportOutcome,
        ),
      ),

    listUnrevoked: (form, { after, limit }, timeoutMs) =>
      pool.run(timeoutMs, async (session) => {
        const { rows } = await session.query(LIST_UNREVOKED, [form, after ?? BEFORE_ALL, limit])
        return rows.map(({ id, digest }) => ({ id: id as string, digest: digest as string }))
      }),

    revokeMany: (ids, atMs, timeoutMs) =>
      pool.run(timeoutMs, async (session) => (await session.query(REVOKE_MANY, [ids, toDate(atMs)])).count),
  }
}

function toGiven(tokens: readonly ImportedToken[]): readonly unknown[] {
  return [tokens.map(({ email }) => foldedEmail(email)), tokens.map(({ digest }) => toBytes(digest))]
}
