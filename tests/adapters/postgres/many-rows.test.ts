import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { examineDatabase } from '../../../src/adapters/postgres/diagnostics/examine-database.ts'
import { checkStoredHashes } from '../../../src/adapters/postgres/diagnostics/stored-hashes.ts'
import { LATCHKEY_MIGRATIONS } from '../../../src/adapters/postgres/migration-set.ts'
import { storedCustomer } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'
import { HASH } from '../../support/program-suite.ts'
import { SERVICE_SECRET, startApp } from '../../support/running-app.ts'
import { postgresAlone } from '../../support/sqlite.ts'

/** Longer than the timeout of a statement on the server, and enough for a busy machine. */
const GENEROUS_MS = 60_000
const TOKENS = 150_000
const CUSTOMERS = 60_000

describe('A customer with 150,000 retained tokens', { skip: postgresAlone }, () => {
  let stores: PostgresStores
  let customerId: string
  let email: string
  before(async () => {
    stores = await openPostgresStores()
    ;({ id: customerId, email } = await storedCustomer(stores))
    // Several of one time, so that a page ends among them.
    await stores.database.sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, revoked_at)
       select gen_random_uuid(), $1, 'login', sha256(n::text::bytea), '{*}', now() - n / 3 * interval '1 second', now()
         from generate_series(1, ${TOKENS}) as n`,
      [customerId],
    )
    // As autovacuum does after this number of rows.
    await stores.database.sql('analyze login_tokens')
  })
  after(() => stores.close())

  it('is shown with every token once, newest first', async () => {
    const tokens = await stores.loginTokens.listByCustomer(customerId, GENEROUS_MS)
    assert.equal(new Set(tokens.map(({ id }) => id)).size, TOKENS)
    assert.equal(tokens.length, TOKENS)
    for (const [n, { createdAtMs, id }] of tokens.slice(1).entries()) {
      const earlier = tokens[n]
      assert.ok(earlier !== undefined && earlier.createdAtMs >= createdAtMs)
      assert.ok(earlier.createdAtMs > createdAtMs || earlier.id > id)
    }
  })

  it('is shown on the operator’s page, with the number of omitted tokens', async () => {
    const app = await startApp({
      database: stores.database,
      env: { OPS: 'on', SERVICE_TOKENS: `tests[ops]=${SERVICE_SECRET}` },
    })
    try {
      const { status, body } = await app.call('/ops/customer', {
        token: SERVICE_SECRET,
        body: { search: email },
        headers: { 'X-Requested-With': 'ops-page', 'Sec-Fetch-Site': 'same-origin' },
      })
      assert.deepEqual([status, body.tokens?.length, body.more], [200, 200, TOKENS - 200])
    } finally {
      await app.close()
    }
  })

  it('is deleted, by statements that each delete few rows', async () => {
    await stores.database.sql(`
      create table deleted (count int);
      create function count_deleted() returns trigger language plpgsql as
        $$ begin insert into deleted select count(*) from was; return null; end $$;
      create trigger count_deleted after delete on login_tokens referencing old table as was
        for each statement execute function count_deleted()`)
    assert.equal(await stores.customers.delete(customerId, GENEROUS_MS), true)
    assert.deepEqual(await stores.database.sql('select from login_tokens limit 1'), [])
    assert.equal(await stores.customers.delete(customerId, GENEROUS_MS), false)
    const [row] = await stores.database.sql('select max(count), sum(count)::int from deleted')
    assert.deepEqual(row, { max: 1000, sum: TOKENS })
  })
})

describe('The check of the password hashes', { skip: postgresAlone }, () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
  })
  after(() => stores.close())

  const examined = async (queryMs?: number) => {
    const { url } = stores.database
    const settings = { url, directUrl: url, sets: [LATCHKEY_MIGRATIONS], prepared: true }
    const findings = await examineDatabase(
      { ...settings, migrate: 'off', connections: 12, bcryptCost: 4 },
      queryMs,
    )
    return findings.find(({ name }) => name === 'database.passwords')
  }

  it(`finds the damaged ones among ${CUSTOMERS} customers`, async () => {
    await stores.database.sql(
      `insert into customers (id, email, password_hash, created_at)
       select gen_random_uuid(), n || '@example.com', case n when 7 then 'damaged' else $1 end, now()
         from generate_series(1, ${CUSTOMERS}) as n`,
      [HASH],
    )
    assert.deepEqual((await examined())?.facts, { checked: CUSTOMERS, damaged: 1, dearer: 0 })
  })

  it('covers a random sample when the time does not suffice', async () => {
    const { facts, message } = await checkStoredHashes(stores.database.url, 4, GENEROUS_MS, 0)
    assert.equal(facts?.checked, 5000)
    assert.match(message, /Only a sample of 5000 customers was checked, because of the time\.$/)
  })

  it('is reported as not checked when the database does not respond in time', async (t) => {
    const locked = stores.database.sql('begin; lock table customers; select pg_sleep(60)').catch(() => {})
    t.after(async () => {
      await stores.database.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()",
      )
      await locked
    })
    const found = await examined(1000)
    assert.deepEqual(
      [found?.state, found?.message],
      ['warning', 'It was not checked, because the database did not respond in time.'],
    )
  })
})
