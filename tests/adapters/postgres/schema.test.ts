import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from 'pg'
import { openPool } from '../../../src/adapters/postgres/connection/pool.ts'
import { postgresLoginTokens } from '../../../src/adapters/postgres/login-tokens.ts'
import { login, namedToken, storedCustomer, TIMEOUT_MS } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'

const MOMENT_MS = Date.UTC(2030, 0, 1)

describe('The schema', () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
  })
  after(() => stores.close())

  // Public case 053
  it('stores every time with its time zone', async () => {
    const columns = await stores.database.sql<{ column_name: string; data_type: string }>(`
      select table_name, column_name, data_type from information_schema.columns
       where table_schema = 'public' and table_name in ('customers', 'login_tokens') and data_type ~ 'time|date'`)
    assert.equal(columns.length, 7)
    for (const { data_type, column_name } of columns) {
      assert.equal(data_type, 'timestamp with time zone', column_name)
    }
  })

  // Public case 053
  it('returns the same time in every time zone of the process and of the session', async (t) => {
    const zone = process.env.TZ
    t.after(() => {
      if (zone === undefined) delete process.env.TZ
      else process.env.TZ = zone
    })
    const customer = await storedCustomer(stores)
    const { token, digest } = await namedToken(stores, customer)
    const name = new URL(stores.database.url).pathname.slice(1)
    for (const [ofProcess, ofSession] of [
      ['UTC', 'UTC'],
      ['America/New_York', 'UTC'],
      ['America/New_York', 'Asia/Kolkata'],
      ['Pacific/Kiritimati', 'America/New_York'],
    ]) {
      process.env.TZ = ofProcess
      await stores.database.sql(`alter database ${name} set timezone = '${ofSession}'`)
      await stores.database.sql("update login_tokens set expires_at = '2030-01-01 00:00:00Z' where id = $1", [
        token.id,
      ])
      // Only a new connection has the new zone.
      const pool = openPool({ url: stores.database.url, max: 1, prepared: true, onEvent: () => {} })
      const loginTokens = postgresLoginTokens(pool)
      const found = await loginTokens.findByDigest(digest, TIMEOUT_MS)
      const made = await namedToken({ ...stores, loginTokens }, customer, { expiresAtMs: MOMENT_MS })
      await pool.close()
      assert.equal(found?.token.expiresAtMs, MOMENT_MS, `${ofProcess} ${ofSession}`)
      const [row] = await stores.database.sql(
        "select extract(epoch from expires_at at time zone 'UTC')::bigint * 1000 as ms from login_tokens where id = $1",
        [made.token.id],
      )
      assert.equal(Number(row?.ms), MOMENT_MS, `${ofProcess} ${ofSession}`)
    }
  })

  it('rejects a second active login token, an invalid digest and a token without abilities', async () => {
    const customer = await storedCustomer(stores)
    const { token, digest } = await login(stores, customer)
    const insert = (digest: string, name: string, abilities: string) =>
      stores.database.sql(
        `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
         values (gen_random_uuid(), $1, $2, decode($3, 'hex'), ${abilities}, now())`,
        [token.customerId, name, digest],
      )
    const other = digest.replaceAll(/./g, '0')
    await assert.rejects(insert(other, 'login', "'{}'"), { code: '23505' })
    await assert.rejects(insert(digest, 'bot', "'{}'"), { code: '23505' })
    await assert.rejects(insert('00', 'bot', "'{}'"), { code: '23514' })
    await assert.rejects(insert(other, 'bot', 'null'), { code: '23502' })
    await insert(other, 'bot', "'{}'")
  })

  it('uses an index for each lookup', async () => {
    const client = new Client({ connectionString: stores.database.url })
    await client.connect()
    // Else a table as small as this one is read whole whatever the indexes.
    await client.query('set enable_seqscan = off')
    const lookUps: readonly [text: string, index: string][] = [
      ["select from login_tokens where token_hash = '\\x00'", 'login_tokens_token_hash_key'],
      ['select from login_tokens where customer_id = gen_random_uuid()', 'login_tokens_of_customer_idx'],
      [
        `select from customers where lower(email collate "C") = lower('a'::text collate "C")`,
        'customers_email_key',
      ],
      [
        `select from customers where lower(email collate "C") > lower('a'::text collate "C")
          order by lower(email collate "C") limit 10`,
        'customers_email_key',
      ],
    ]
    for (const [text, index] of lookUps) {
      const { rows } = await client.query(`explain (format json) ${text}`)
      assert.ok(JSON.stringify(rows).includes(index), text)
    }
    await client.end()
  })

  it('uses the index for a lookup once the table has grown', async () => {
    await stores.database.sql(`
      with customer as (insert into customers (id, email, created_at)
        select gen_random_uuid(), 'many' || n, now() from generate_series(1, 2000) as n returning id)
      insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
        select gen_random_uuid(), id, 'login', sha256(id::text::bytea), '{*}', now() from customer`)
    await stores.database.sql('analyze customers, login_tokens')
    const [row] = await stores.database.sql(`
      explain (format json) select * from login_tokens join customers on customers.id = login_tokens.customer_id
       where login_tokens.token_hash = '\\x00'`)
    const plan = JSON.stringify(row)
    assert.doesNotMatch(plan, /Seq Scan/)
    assert.match(plan, /login_tokens_token_hash_key/)
    assert.match(plan, /customers_pkey/)
  })

  it('accepts infinity from an operator, which means never or already expired', async () => {
    const customer = await storedCustomer(stores)
    const { token, digest } = await namedToken(stores, customer)
    const read = async (set: string) => {
      await stores.database.sql(`update login_tokens set ${set} where id = $1`, [token.id])
      const found = await stores.loginTokens.findByDigest(digest, 1000)
      assert.ok(found)
      return found.token
    }
    assert.equal((await read("expires_at = 'infinity'")).expiresAtMs, null)
    assert.ok(((await read("expires_at = '-infinity'")).expiresAtMs ?? 0) < 0)
    assert.equal((await read("expires_at = '290000-01-01'")).expiresAtMs, null)
    for (const moment of ['infinity', '-infinity', '2020-01-01']) {
      assert.equal(typeof (await read(`revoked_at = '${moment}'`)).revokedAtMs, 'number')
    }
  })

  it('grants nothing for abilities that are not a list of strings', async () => {
    const customer = await storedCustomer(stores)
    const { token, digest } = await namedToken(stores, customer)
    for (const [written, read] of [
      ['{}', []],
      ['{NULL}', []],
      ['{{*,a},{b,c}}', []],
      ['{NULL,orders:read}', ['orders:read']],
    ] as const) {
      await stores.database.sql('update login_tokens set abilities = $2 where id = $1', [token.id, written])
      assert.deepEqual((await stores.loginTokens.findByDigest(digest, 1000))?.token.abilities, read)
    }
    await stores.database.sql('alter table login_tokens alter column abilities drop not null')
    await stores.database.sql('update login_tokens set abilities = null where id = $1', [token.id])
    assert.deepEqual((await stores.loginTokens.findByDigest(digest, 1000))?.token.abilities, [])
  })
})
