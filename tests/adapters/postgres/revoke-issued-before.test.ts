import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { Client } from 'pg'
import { Unavailable } from '../../../src/domain/errors.ts'
import { TIMEOUT_MS } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'
import { until } from '../../support/until.ts'

let stores: PostgresStores
beforeEach(async () => {
  stores = await openPostgresStores()
})
afterEach(() => stores.close())

/** Stores tokens, the ids of the first and of the last being the least and the greatest that there are. */
function storeTokens(count: number): Promise<unknown> {
  return stores.database.sql(`
    with owner as (
      insert into customers (id, email, created_at) values (gen_random_uuid(), 'ana@example.com', now())
      returning id)
    insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at)
    select case n when 1 then '00000000-0000-0000-0000-000000000000'
                  when ${count} then 'ffffffff-ffff-ffff-ffff-ffffffffffff'
                  else gen_random_uuid() end::uuid,
           id, 'bot', sha256(convert_to('token ' || n, 'UTF8')), '{}', to_timestamp(0)
      from owner, generate_series(1, ${count}) as n`)
}

/** Makes each update of a token with this name slower. */
function slowUpdates(name: string, secondsPerRow: number): Promise<unknown> {
  return stores.database.sql(`
    create function slow() returns trigger language plpgsql as $$
      begin perform pg_sleep(${secondsPerRow}); return new; end $$;
    create trigger slow before update on login_tokens
      for each row when (old.name = '${name}') execute function slow()`)
}

async function countRevoked(): Promise<number | undefined> {
  const [row] = await stores.database.sql<{ revoked: number }>(
    'select count(revoked_at)::int as revoked from login_tokens',
  )
  return row?.revoked
}

/** Revokes all tokens, and counts the revoked tokens of each step. */
function revoke() {
  const steps: number[] = []
  const onStep = (revoked: number) => void steps.push(revoked)
  return {
    steps,
    done: stores.loginTokens.revokeIssuedBefore(1000, Date.now(), { timeoutMs: TIMEOUT_MS, onStep }),
  }
}

describe('Revocation of tokens by their age on PostgreSQL', () => {
  for (const count of [1, 2, 999, 1000, 1001, 2500])
    it(`revokes each of ${count} tokens, including the lowest and the highest id`, async () => {
      await storeTokens(count)
      assert.equal(await revoke().done, count)
      assert.equal(await countRevoked(), count)
    })

  it('repeats a step that timed out with fewer rows', async () => {
    await storeTokens(1200)
    await slowUpdates('bot', 0.0015)
    const { steps, done } = revoke()
    assert.equal(await done, 1200)
    assert.equal(await countRevoked(), 1200)
    assert.ok(Math.max(...steps) <= 250, String(steps))
  })

  it('fails when the smallest step has timed out, and has reported the tokens revoked until then', async () => {
    await storeTokens(1500)
    await stores.database.sql(`
      update login_tokens set name = 'slow'
       where id in (select id from login_tokens order by id offset 1400)`)
    await slowUpdates('slow', 0.1)
    const { steps, done } = revoke()
    await assert.rejects(done, Unavailable)
    const revoked = steps.reduce((sum, count) => sum + count, 0)
    assert.ok(revoked >= 1000 && revoked < 1500, String(steps))
    assert.equal(await countRevoked(), revoked)
  })

  it('makes every instance clear its cache, even when no row changed', async () => {
    const listener = new Client({ connectionString: stores.database.url })
    await listener.connect()
    const heard: (string | undefined)[] = []
    listener.on('notification', ({ payload }) => heard.push(payload))
    await listener.query('select latchkey_listen()')
    assert.equal(await revoke().done, 0)
    await until(() => heard.length > 0)
    await listener.end()
    assert.deepEqual(heard, ['1 forget'])
  })
})
