import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { Client } from 'pg'
import { decodeNotification } from '../../../src/adapters/postgres/revocation/notifications.ts'
import type { Invalidation } from '../../../src/application/ports/invalidations.ts'
import type { Admission } from '../../../src/domain/session.ts'
import { aDigest, aLoginToken } from '../../../src/testing/builders.ts'
import { login, namedToken, storedCustomer, TIMEOUT_MS } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'

describe('The triggers', () => {
  let stores: PostgresStores
  let listener: Client
  let payloads: string[]
  before(async () => {
    stores = await openPostgresStores()
    listener = new Client({ connectionString: stores.database.url })
    await listener.connect()
    listener.on('notification', ({ payload = '' }) => payloads.push(payload))
    await listener.query('select latchkey_listen()')
  })
  after(async () => {
    await listener.end()
    await stores.close()
  })
  beforeEach(() => {
    payloads = []
  })

  /** What was announced since the last call. Notifications come in the order of commits: a last one ends the wait. */
  async function publishInvalidation(): Promise<readonly Invalidation[]> {
    await stores.database.sql("select latchkey_say('end')")
    while (payloads.at(-1) !== 'end') await listener.query('select 1')
    return payloads.splice(0).flatMap((payload) => {
      const notice = decodeNotification(payload)
      return notice?.kind === 'changed' ? notice.invalidations : []
    })
  }
  const sql = (text: string, values: readonly unknown[] = []) => stores.database.sql(text, values)

  it('publish the digest of a revoked token once, also when another program revokes it', async () => {
    const customer = await storedCustomer(stores)
    const bot = await namedToken(stores, customer)
    const { token, digest } = await login(stores, customer)
    await publishInvalidation()
    await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
    assert.deepEqual(await publishInvalidation(), [{ kind: 'digest', digest }])
    await sql('update login_tokens set revoked_at = now() where customer_id = $1', [customer.id])
    assert.deepEqual(await publishInvalidation(), [{ kind: 'digest', digest: bot.digest }])
  })

  it('publish the earlier token that a login replaces, and nothing for a first login', async () => {
    const customer = await storedCustomer(stores)
    await publishInvalidation()
    const { digest } = await login(stores, customer)
    assert.deepEqual(await publishInvalidation(), [])
    await login(stores, customer)
    assert.deepEqual(await publishInvalidation(), [{ kind: 'digest', digest }])
  })

  it('publish the sessions that a login ends, and nothing for those that it moves to other slots', async () => {
    const customer = await storedCustomer(stores)
    const into = (slot: number, revoked: readonly string[] = [], moved: Admission['moved'] = []) =>
      login(stores, customer, {}, () => ({ slot, revoked, moved }))
    const [first, second] = [await into(1), await into(7)]
    await publishInvalidation()
    await into(2, [first.token.id], [{ id: second.token.id, slot: 1 }])
    assert.deepEqual(await publishInvalidation(), [{ kind: 'digest', digest: first.digest }])
  })

  for (const change of [
    "expires_at = now() + interval '1 minute'",
    'expires_at = null',
    "abilities = '{orders:read}'",
    "name = 'other'",
    "token_hash = decode(repeat('00', 32), 'hex')",
    'id = gen_random_uuid()',
  ]) {
    it(`publish a token whose ${change.split(' ')[0]} changes: ${change}`, async () => {
      const expiresAtMs = Date.now() + 3_600_000
      const { token, digest } = await namedToken(stores, await storedCustomer(stores), { expiresAtMs })
      await publishInvalidation()
      await sql(`update login_tokens set ${change} where id = $1`, [token.id])
      assert.deepEqual(await publishInvalidation(), [{ kind: 'digest', digest }])
      await sql("delete from login_tokens where token_hash = decode(repeat('00', 32), 'hex')")
    })
  }

  it('publish a token that is moved to another customer', async () => {
    const { token, digest } = await namedToken(stores, await storedCustomer(stores))
    const other = await storedCustomer(stores)
    await publishInvalidation()
    await sql('update login_tokens set customer_id = $2 where id = $1', [token.id, other.id])
    assert.deepEqual(await publishInvalidation(), [{ kind: 'digest', digest }])
  })

  it('publish the id of a customer who is disabled, renamed or has a new e-mail', async () => {
    const { id } = await storedCustomer(stores)
    const expected = [{ kind: 'customer', customerId: id }]
    await publishInvalidation()
    for (const change of [
      'disabled_at = now()',
      "name = 'Grace'",
      "email = 'grace@example.com'",
      'name = null',
    ]) {
      await sql(`update customers set ${change} where id = $1`, [id])
      assert.deepEqual(await publishInvalidation(), expected, change)
    }
  })

  it('publish a deleted customer and the tokens that are deleted with the customer', async () => {
    const customer = await storedCustomer(stores)
    const { digest } = await login(stores, customer)
    await publishInvalidation()
    await stores.customers.delete(customer.id, TIMEOUT_MS)
    const both = await publishInvalidation()
    assert.equal(both.length, 2)
    assert.ok(both.some((one) => one.kind === 'customer' && one.customerId === customer.id))
    assert.ok(both.some((one) => one.kind === 'digest' && one.digest === digest))
  })

  it('publish a token that has expired by the clock of the server, which may be hours ahead', async () => {
    const expiresAtMs = Date.now() - 2 * 3_600_000
    const customer = await storedCustomer(stores)
    for (const change of [
      'update login_tokens set revoked_at = now() where id = $1',
      'delete from login_tokens where id = $1',
    ]) {
      const { token, digest } = await namedToken(stores, customer, { expiresAtMs })
      await publishInvalidation()
      await sql(change, [token.id])
      assert.deepEqual(await publishInvalidation(), [{ kind: 'digest', digest }], change)
    }
    await sql('delete from login_tokens where customer_id = $1', [customer.id])
  })

  it('publish each unrevoked token that a prune removes, without clearing every cache', async () => {
    const { id } = await storedCustomer(stores)
    await sql(
      `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at, revoked_at)
       select gen_random_uuid(), $1, 'many', sha256(convert_to('pruned ' || n, 'UTF8')), '{}', to_timestamp(0),
              to_timestamp(n), case when n % 5 = 0 then to_timestamp(n) end
         from generate_series(1, 500) as n`,
      [id],
    )
    await publishInvalidation()
    assert.equal(await stores.loginTokens.prune(400_000, 1000, TIMEOUT_MS), 399)
    const digests = await publishInvalidation()
    assert.equal(digests.length, 320)
    assert.ok(digests.every(({ kind }) => kind === 'digest'))
    assert.equal(await stores.loginTokens.prune(1_000_000, 1000, TIMEOUT_MS), 101)
  })

  it('publish nothing for a touch, a rehash, a prune of revoked tokens, an insert or an update without a change', async (t) => {
    const customer = await storedCustomer(stores)
    const { token } = await login(stores, customer)
    const longAgoMs = Date.now() - 2 * 3_600_000
    const revoked = await namedToken(stores, customer)
    await sql('update login_tokens set revoked_at = now() where id = $1', [revoked.token.id])
    await publishInvalidation()
    const count = async (doing: Promise<unknown>) => {
      await doing
      assert.deepEqual(await publishInvalidation(), [])
    }
    await count(sql('update login_tokens set last_used_at = now()'))
    await count(stores.loginTokens.touch([{ id: token.id, atMs: Date.now() + 60_000 }], TIMEOUT_MS))
    await namedToken(stores, customer, { revokedAtMs: longAgoMs })
    assert.equal(await stores.loginTokens.prune(longAgoMs + 1, 1000, TIMEOUT_MS), 1)
    assert.deepEqual(await publishInvalidation(), [])
    await count(sql("update customers set password_hash = 'rehashed', updated_at = now()"))
    await count(sql('delete from login_tokens where revoked_at is not null'))
    await count(
      stores.loginTokens.add(aLoginToken({ customerId: customer.id, name: 'b' }), aDigest(), TIMEOUT_MS),
    )
    await count(sql('update login_tokens set revoked_at = revoked_at, name = name where id = $1', [token.id]))
    await count(sql('update customers set name = name, email = email'))
    await count(sql('update login_tokens set revoked_at = now() where false'))
    await count(sql('delete from customers where false'))
    t.diagnostic('0 notifications')
  })

  it('publish nothing for a restored token, which no instance can have cached', async () => {
    const { token, digest } = await namedToken(stores, await storedCustomer(stores))
    await stores.loginTokens.revoke({ id: token.id, digest }, Date.now(), TIMEOUT_MS)
    await publishInvalidation()
    await sql('update login_tokens set revoked_at = null where id = $1', [token.id])
    assert.deepEqual(await publishInvalidation(), [])
  })

  for (const [rows, expected] of [
    [100, 100],
    [101, 1],
  ] as const) {
    it(`publish ${expected === 1 ? 'only that every cache is cleared' : 'each row'} when ${rows} rows change at once`, async () => {
      const { id } = await storedCustomer(stores)
      await sql(
        `insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
         select gen_random_uuid(), $1, 'many', sha256(convert_to('${rows} ' || n, 'UTF8')), '{}', now()
           from generate_series(1, ${rows}) as n`,
        [id],
      )
      await publishInvalidation()
      for (const change of [
        "update login_tokens set abilities = '{a}' where name = 'many'",
        "delete from login_tokens where name = 'many'",
      ]) {
        await sql(change)
        const all = await publishInvalidation()
        assert.equal(all.length, expected, change)
        assert.equal(all[0]?.kind, expected === 1 ? 'everything' : 'digest')
      }
    })
  }

  it('clear every cache when a table is truncated', async () => {
    await publishInvalidation()
    await sql('truncate login_tokens')
    assert.deepEqual(await publishInvalidation(), [{ kind: 'everything' }])
    await sql('truncate customers cascade')
    assert.ok((await publishInvalidation()).every(({ kind }) => kind === 'everything'))
  })

  it('publish the changes of a session that has disabled its triggers', async () => {
    const { token, digest } = await namedToken(stores, await storedCustomer(stores))
    await publishInvalidation()
    const replica = new Client({ connectionString: stores.database.url })
    await replica.connect()
    await replica.query('set session_replication_role = replica')
    await replica.query('update login_tokens set revoked_at = now() where id = $1', [token.id])
    await replica.end()
    assert.deepEqual(await publishInvalidation(), [{ kind: 'digest', digest }])
  })

  it('publish nothing for a change that is rolled back', async () => {
    const { token } = await namedToken(stores, await storedCustomer(stores))
    await publishInvalidation()
    await sql(
      `do $$ begin
         update login_tokens set revoked_at = now() where id = '${token.id}';
         raise exception 'no';
       end $$`,
    ).catch(() => {})
    assert.deepEqual(await publishInvalidation(), [])
  })
})
