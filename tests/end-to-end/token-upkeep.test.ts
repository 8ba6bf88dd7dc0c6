import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { callAt } from '../../src/testing/call.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { EMAIL, PASSWORD, programSuite } from '../support/program-suite.ts'
import { startApp } from '../support/running-app.ts'
import { postgresAlone } from '../support/sqlite.ts'
import { until } from '../support/until.ts'

/** Counts the statements that touch tokens and records every last use written. */
async function countTouches({ sql }: TestDatabase): Promise<() => Promise<number>> {
  await sql(`
    create table touches (at timestamptz);
    create function note_touch() returns trigger language plpgsql as $$
      begin insert into touches values (clock_timestamp()); return null; end $$;
    create trigger note_touch after update of last_used_at on login_tokens
      for each statement execute function note_touch()`)
  return async () => (await sql('select from touches')).length
}

// PostgreSQL only: the triggers that count writes use its procedural language.
describe('the last use of a token', { skip: postgresAlone }, () => {
  test('is written at most twice for 10,000 requests within a minute', async (t) => {
    const app = await startApp()
    t.after(() => app.close())
    const touches = await countTouches(app.database)
    const token = await app.login((await app.addCustomer()).email)
    const beganMs = performance.now()
    for (let sent = 0; sent < 10_000; sent += 100) {
      // A busy machine may reject a lookup with 503 by its deadline; only accepted requests count.
      const accepted = () =>
        until(async () => {
          const { status } = await app.call('/api/me', { token })
          assert.ok(status === 200 || status === 503, `status ${status}`)
          return status === 200
        })
      await Promise.all(Array.from({ length: 100 }, accepted))
    }
    const tookMs = performance.now() - beganMs
    const written = await touches()
    assert.ok(written >= 1 && written <= 1 + Math.ceil(tookMs / 60_000), `${written} writes`)
    t.diagnostic(`10,000 requests in ${Math.round(tookMs)} ms, ${written} writes`)
  })

  test('is not written with TOKEN_LAST_USED=off', async (t) => {
    const database = await createTestDatabase()
    const app = await startApp({ database, env: { TOKEN_LAST_USED: 'off' } })
    t.after(async () => {
      await app.close()
      await database.drop()
    })
    const touches = await countTouches(database)
    const token = await app.login((await app.addCustomer()).email)
    assert.equal((await app.call('/api/me', { token })).status, 200)
    // A service writes pending uses before it exits.
    await app.close()
    assert.equal(await touches(), 0)
  })

  const suite = programSuite()
  test('survives a SIGTERM right after the use', async (t) => {
    const { service, url } = await suite.start()
    const used = () =>
      suite
        .database()
        .sql<{ last_used_at: Date }>('select last_used_at from login_tokens where last_used_at is not null')
    const body = { email: EMAIL, password: PASSWORD }
    const { token } = (await callAt(url, '/api/login', { body })).body
    assert.equal((await callAt(url, '/api/me', { token })).status, 200)
    await until(async () => (await used()).length === 1)
    const touches = await countTouches(suite.database())
    const beforeMs = Date.now()
    assert.equal((await callAt(url, '/api/me', { token })).status, 200)
    const afterMs = Date.now()
    service.child.kill('SIGTERM')
    const { code } = await service.ended
    assert.equal(code, 0)
    const [row] = await used()
    const usedMs = row?.last_used_at.getTime() ?? 0
    assert.ok(usedMs >= beforeMs && usedMs <= afterMs, `${usedMs} is not of the last request`)
    assert.equal(await touches(), 1)
    t.diagnostic('the use before the SIGTERM was written, in 1 write')
  })
})

describe('pruning', { skip: postgresAlone }, () => {
  test('removes old ended tokens automatically, each once across two instances, and leaves the others', async (t) => {
    const database = await createTestDatabase()
    t.after(() => database.drop())
    await database.sql(`
      with one_customer as (
        insert into customers (id, email, created_at) values (gen_random_uuid(), 'ana@example.com', now())
        returning id)
      insert into login_tokens (id, customer_id, name, token_hash, abilities, created_at, expires_at, revoked_at)
      select gen_random_uuid(), id, 'bot', sha256(convert_to('old ' || n, 'UTF8')), '{}'::text[], now() - interval '90 days',
             case when n % 2 = 0 then now() - interval '31 days' end,
             case when n % 2 = 1 then now() - interval '31 days' end
        from one_customer, generate_series(1, 4500) as n
       union all
      select gen_random_uuid(), id, 'recent', sha256(convert_to('new ' || n, 'UTF8')), '{}'::text[], now() - interval '90 days',
             now() - interval '29 days', null
        from one_customer, generate_series(1, 50) as n`)
    await database.sql(`
      create table pruned (id uuid);
      create function note_prune() returns trigger language plpgsql as $$
        begin insert into pruned values (old.id); return null; end $$;
      create trigger note_prune after delete on login_tokens for each row execute function note_prune()`)
    const pruningTimes = { firstMs: 1, everyMs: 20, pauseMs: 1 }
    const apps = await Promise.all([1, 2].map(() => startApp({ database, pruningTimes })))
    await until(
      async () => (await database.sql("select from login_tokens where name = 'bot' limit 1")).length === 0,
    )
    for (const app of apps) await app.close()
    const [counts] = await database.sql<{ remaining: number; pruned: number; distinct: number }>(`
      select (select count(*) from login_tokens)::int as remaining, count(*)::int as pruned,
             count(distinct id)::int as distinct from pruned`)
    assert.deepEqual(counts, { remaining: 50, pruned: 4500, distinct: 4500 })
    for (const { logLines } of apps)
      assert.ok(logLines.every((line) => !/pruning|"level":"error"/.test(line)))
    t.diagnostic('4,500 pruned by two instances, each once')
  })
})
