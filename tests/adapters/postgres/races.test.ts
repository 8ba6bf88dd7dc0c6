import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from 'pg'
import { PRUNE_LOCK } from '../../../src/adapters/postgres/prune-tokens.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { aCustomer, aDigest } from '../../../src/testing/builders.ts'
import { login, namedToken, storedCustomer, TIMEOUT_MS } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'
import { until } from '../../support/until.ts'

/** SQLSTATE of PostgreSQL: its own lock timeout has passed. */
const LOCK_NOT_AVAILABLE = '55P03'

describe('PostgreSQL under concurrent access', () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
    // Both connections are opened first: the first would release its lock while the second is being opened.
    await Promise.all([storedCustomer(stores), storedCustomer(stores)])
  })
  after(() => stores.close())

  it('adds two batches of the same customers in opposite orders without a deadlock', async () => {
    const batch = (...emails: string[]) =>
      emails.map((email) => ({ customer: aCustomer({ email }), passwordHash: null }))
    const holder = new Client({ connectionString: stores.database.url })
    await holder.connect()
    await holder.query('begin')
    // Held between the other two, so that each batch has its first row before it can go on to the last.
    await holder.query(
      "insert into customers (id, email, created_at) values (gen_random_uuid(), 'm@x', now())",
    )
    const both = Promise.all([
      stores.customers.addMany(batch('a@x', 'm@x', 'z@x'), TIMEOUT_MS),
      stores.customers.addMany(batch('z@x', 'm@x', 'a@x'), TIMEOUT_MS),
    ])
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => (await holder.query(waiting)).rowCount === 2)
    await holder.query('rollback')
    await holder.end()
    assert.equal((await both).flat().filter(Boolean).length, 3)
  })

  it('refuses a reset of the password that waits for a change of it, and keeps the changed one', async () => {
    const { id: customerId, email } = await storedCustomer(stores)
    const presented = { purpose: 'password-reset', digest: aDigest() }
    await stores.oneTimeTokens.add({ ...presented, customerId, expiresAtMs: Date.now() + 60_000 }, TIMEOUT_MS)
    const holder = new Client({ connectionString: stores.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query("update customers set password_hash = 'changed' where id = $1", [customerId])
    const reset = { ...presented, customerId, passwordHash: 'reset', atMs: Date.now() }
    const waits = stores.customers.resetPassword(reset, TIMEOUT_MS)
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => (await holder.query(waiting)).rowCount === 1)
    await holder.query('delete from one_time_tokens where customer_id = $1', [customerId])
    await holder.query('commit')
    await holder.end()
    assert.equal(await waits, null)
    assert.equal((await stores.customers.findByEmail(email, TIMEOUT_MS))?.passwordHash, 'changed')
  })

  // Public case 037, row H5
  it('rejects changes to a locked row within the timeout, and delays nothing else', async (t) => {
    const customer = await storedCustomer(stores)
    const { token, digest } = await login(stores, customer)
    const other = await storedCustomer(stores)
    const holder = new Client({ connectionString: stores.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from login_tokens where id = $1 for update', [token.id])
    await holder.query('select from customers where id = $1 for update', [customer.id])

    let endedByServer = true
    const refusedAfterMs = async (call: Promise<unknown>) => {
      const beganMs = performance.now()
      await assert.rejects(call, (error: Unavailable) => {
        endedByServer &&= (error.cause as { code?: string } | undefined)?.code === LOCK_NOT_AVAILABLE
        return error instanceof Unavailable
      })
      return performance.now() - beganMs
    }
    const { customers, loginTokens } = stores
    const reset = { purpose: 'password-reset', digest, passwordHash: 'new', atMs: Date.now() }
    const refusals = Promise.all([
      refusedAfterMs(loginTokens.revoke({ id: token.id, digest }, Date.now(), 1000)),
      refusedAfterMs(customers.disable(customer.id, Date.now(), 1000)),
      refusedAfterMs(customers.setPasswordHash(customer.id, 'new', Date.now(), 1000)),
      refusedAfterMs(customers.resetPassword({ ...reset, customerId: customer.id }, 1000)),
      refusedAfterMs(customers.delete(customer.id, 1000)),
      refusedAfterMs(
        loginTokens.replace({ token: { ...token }, digest, verifiedHash: customer.passwordHash }, 1000),
      ),
    ])
    assert.ok(await loginTokens.findByDigest(digest, 1000))
    assert.ok((await login(stores, other)).accepted)
    const slowestMs = Math.max(...(await refusals))
    assert.ok(slowestMs < 10_000, 'it waited for the holder of the lock')

    await holder.query('rollback')
    await holder.end()
    const revoked = await loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
    // A call that a busy machine ended at its own timeout, before the server did, may have taken effect.
    if (endedByServer) assert.equal(revoked, true)
    assert.notEqual((await loginTokens.findByDigest(digest, TIMEOUT_MS))?.token.revokedAtMs, null)
    t.diagnostic(`H5: 5 changes refused, the slowest after ${Math.round(slowestMs)} ms`)
  })

  // Public case 037
  it('skips a locked row when it records a last use, reports it, and writes it the next time', async () => {
    const customer = await storedCustomer(stores)
    const [held, free] = [await namedToken(stores, customer), await namedToken(stores, customer)]
    const uses = [held, free].map(({ token }) => ({ id: token.id, atMs: 1_700_000_000_000 }))
    const holder = new Client({ connectionString: stores.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from login_tokens where id = $1 for update', [held.token.id])
    const { loginTokens } = stores
    const used = async () =>
      (await loginTokens.listByCustomer(customer.id, TIMEOUT_MS)).filter(
        ({ lastUsedAtMs }) => lastUsedAtMs !== null,
      )
    // A wait for a lock is cancelled after 800 ms.
    assert.deepEqual(await loginTokens.touch(uses, 1000), [held.token.id])
    assert.deepEqual(
      (await used()).map(({ id }) => id),
      [free.token.id],
    )
    await holder.query('rollback')
    await holder.end()
    assert.deepEqual(await loginTokens.touch(uses, TIMEOUT_MS), [])
    assert.equal((await used()).length, 2)
  })

  it('never moves a last use back, not even during another write', async (t) => {
    const customer = await storedCustomer(stores)
    const { token } = await namedToken(stores, customer)
    await stores.database.sql(`
      create table went_back (at timestamptz);
      create function note_way_back() returns trigger language plpgsql as $$
        begin insert into went_back values (new.last_used_at); return null; end $$;
      create trigger note_way_back after update on login_tokens for each row
        when (new.last_used_at < old.last_used_at) execute function note_way_back()`)
    let writes = 0
    const writer = async () => {
      for (let count = 0; count < 250; count += 1) {
        const atMs = 1_700_000_000_000 + (writes++ ^ 7)
        await stores.loginTokens.touch([{ id: token.id, atMs }], TIMEOUT_MS)
      }
    }
    await Promise.all(Array.from({ length: 8 }, writer))
    assert.deepEqual(await stores.database.sql('select from went_back'), [])
    t.diagnostic(`${writes} writes by 8 at once, none went back`)
  })

  it('prunes without waiting for a locked row or another prune', async () => {
    const customer = await storedCustomer(stores)
    const [held] = [
      await namedToken(stores, customer, { expiresAtMs: 1 }),
      await namedToken(stores, customer, { expiresAtMs: 1 }),
    ]
    const holder = new Client({ connectionString: stores.database.url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('select from login_tokens where id = $1 for update', [held.token.id])
    const { loginTokens } = stores
    assert.equal(await loginTokens.prune(2, 1000, 1000), 1)
    assert.deepEqual(
      (await loginTokens.listByCustomer(customer.id, TIMEOUT_MS)).map(({ id }) => id),
      [held.token.id],
    )
    await holder.query('rollback')

    await holder.query('begin')
    await holder.query('select pg_advisory_xact_lock($1)', [PRUNE_LOCK])
    assert.equal(await loginTokens.prune(2, 1000, 1000), null)
    await holder.query('rollback')
    await holder.end()
    assert.equal(await loginTokens.prune(2, 1000, TIMEOUT_MS), 1)
  })

  it('revokes any number of tokens by their age in steps, each once', async () => {
    const customer = await storedCustomer(stores)
    await stores.database.sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, revoked_at)
       select gen_random_uuid(), $1, 'many', sha256(convert_to('many ' || n, 'UTF8')), '{}', to_timestamp(n % 4),
              case when n % 5 = 0 then now() end
         from generate_series(1, 5000) as n`,
      [customer.id],
    )
    assert.equal(
      await stores.loginTokens.revokeIssuedBefore(2000, Date.now(), { timeoutMs: TIMEOUT_MS }),
      2000,
    )
    const [row] = await stores.database.sql<{ left: number; early: number }>(
      `select count(*)::int as left, (count(*) filter (where created_at < to_timestamp(2)))::int as early
         from login_tokens where customer_id = $1 and revoked_at is null`,
      [customer.id],
    )
    assert.deepEqual(row, { left: 2000, early: 0 })
  })
})
