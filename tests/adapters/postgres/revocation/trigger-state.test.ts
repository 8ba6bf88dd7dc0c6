import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { checkTriggers } from '../../../../src/adapters/postgres/diagnostics/check-server.ts'
import { postgresInvalidations } from '../../../../src/adapters/postgres/revocation/invalidations.ts'
import {
  TRIGGER_FINGERPRINT,
  TRIGGER_PROBLEMS,
  type TriggerState,
} from '../../../../src/adapters/postgres/revocation/trigger-state.ts'
import { systemClock } from '../../../../src/adapters/system-clock/clock.ts'
import type { Invalidation } from '../../../../src/application/ports/invalidations.ts'
import { login, namedToken, storedCustomer } from '../../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../../support/postgres-stores.ts'
import { RESTORE_WITHOUT_TOKENS } from '../../../support/restored-tables.ts'
import { until } from '../../../support/until.ts'

/** What breaks the triggers, how the sentence about it begins, and what mends them. */
const FAULTS = [
  [
    'alter table login_tokens disable trigger publish_update',
    /publish_update on login_tokens does not fire as it must\. Run: alter table login_tokens enable always trigger publish_update;/,
    'alter table login_tokens enable always trigger publish_update',
  ],
  [
    // What pg_restore --disable-triggers leaves behind.
    'alter table customers disable trigger all; alter table customers enable trigger all',
    /publish_delete on customers does not fire as it must.*publish_update on customers does not fire as it must/s,
    `alter table customers enable always trigger publish_update, enable always trigger publish_delete,
       enable always trigger publish_truncate,
       enable replica trigger publish_replicated`,
  ],
  [
    'alter table login_tokens rename to renamed',
    /The trigger publish_update on login_tokens is missing\./,
    'alter table renamed rename to login_tokens',
  ],
  [
    'drop trigger publish_delete on login_tokens',
    /The trigger publish_delete on login_tokens is missing\./,
    `create trigger publish_delete after delete on login_tokens referencing old table as was
       for each statement execute function latchkey_publish_deleted_tokens();
     alter table login_tokens enable always trigger publish_delete`,
  ],
  [
    'alter function latchkey_publish(text, text[]) rename to renamed',
    /The function latchkey_publish is missing/,
    'alter function renamed(text, text[]) rename to latchkey_publish',
  ],
] as const

describe('The state of the triggers', () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
  })
  after(() => stores.close())

  const sql = (text: string, values: readonly unknown[] = []) => stores.database.sql(text, values)
  async function state(): Promise<TriggerState> {
    const [found] = await stores.database.sql<TriggerState>(
      `select ${TRIGGER_FINGERPRINT} as fingerprint, array(${TRIGGER_PROBLEMS}) as problems`,
    )
    return found ?? assert.fail()
  }

  it('is intact on a new schema, and does not change with the stored rows', async () => {
    const { fingerprint, problems } = await state()
    assert.deepEqual(problems, [])
    await checkTriggers(stores.database.url)
    await login(stores, await storedCustomer(stores))
    await sql('delete from login_tokens')
    await sql('vacuum analyze login_tokens')
    assert.equal((await state()).fingerprint, fingerprint)
  })

  for (const [breaks, sentence, mends] of FAULTS) {
    it(`reports: ${breaks}`, async () => {
      const before = await state()
      await sql(breaks)
      assert.match((await state()).problems.join(' '), sentence)
      await assert.rejects(checkTriggers(stores.database.url), { name: 'DatabaseRefused', message: sentence })
      await sql(mends)
      const mended = await state()
      assert.deepEqual(mended.problems, [])
      assert.notEqual(mended.fingerprint, before.fingerprint)
    })
  }

  it('reports a function that publishes nothing', async () => {
    const [{ text } = { text: '' }] = await stores.database.sql<{ text: string }>(
      "select pg_get_functiondef('latchkey_publish_truncation()'::regprocedure) as text",
    )
    await sql(text.replace('perform', '-- perform'))
    assert.match(
      (await state()).problems.join(' '),
      /latchkey_publish_truncation of the trigger publish_truncate on customers does not match this version/,
    )
    await sql(text)
    assert.deepEqual((await state()).problems, [])
  })
})

describe('An instance whose triggers fail', () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
  })
  after(() => stores.close())
  const cleanUps: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of cleanUps.splice(0)) await close()
  })

  async function join() {
    const applied: Invalidation[] = []
    const events: string[] = []
    const { url } = stores.database
    const invalidations = postgresInvalidations({
      url,
      directUrl: url,
      prepared: true,
      strict: true,
      clock: systemClock,
      onEvent: ({ kind, detail }) => events.push(`${kind} ${detail}`),
    })
    cleanUps.push(invalidations.close)
    await until(invalidations.isCurrent)
    invalidations.subscribe((invalidation) => applied.push(invalidation))
    return { ...invalidations, applied, events }
  }

  it('stops using its cache, logs the trigger, and resumes with an empty cache when they are repaired', async () => {
    const one = await join()
    const { sql } = stores.database
    await sql('alter table login_tokens disable trigger publish_update')
    const { token } = await namedToken(stores, await storedCustomer(stores))
    await sql('update login_tokens set revoked_at = now() where id = $1', [token.id])
    await until(() => one.applied.length > 0)
    assert.deepEqual(one.applied, [{ kind: 'everything' }])
    assert.equal(one.isCurrent(), false)
    await until(() => one.events.length > 0)
    assert.match(one.events[0] ?? '', /^suspended .*publish_update on login_tokens does not fire as it must/)
    await sql('alter table login_tokens enable always trigger publish_update')
    await until(one.isCurrent)
    assert.deepEqual(one.applied, [{ kind: 'everything' }, { kind: 'everything' }])
  })

  it('clears its cache when they were disabled only between two heartbeats', async () => {
    const one = await join()
    const { token } = await namedToken(stores, await storedCustomer(stores))
    await stores.database.sql(`
      alter table login_tokens disable trigger publish_update;
      update login_tokens set revoked_at = now() where id = '${token.id}';
      alter table login_tokens enable always trigger publish_update`)
    await until(() => one.applied.length > 0)
    assert.deepEqual(one.applied, [{ kind: 'everything' }])
    await until(one.isCurrent)
  })

  it('clears its cache when the tables were restored from a backup', async () => {
    const one = await join()
    await stores.database.sql(RESTORE_WITHOUT_TOKENS)
    await until(() => one.applied.length > 0)
    assert.deepEqual(one.applied, [{ kind: 'everything' }])
    await until(one.isCurrent)
  })

  it('acknowledges a revocation that no trigger published only when no instance may use its cache', async () => {
    const [one, other] = [await join(), await join()]
    const { sql } = stores.database
    await until(() => one.isCurrent() && other.isCurrent())
    await sql('alter table login_tokens disable trigger publish_update')
    await one.publish({ kind: 'everything' })
    assert.equal(other.isCurrent(), false)
    await sql('alter table login_tokens enable always trigger publish_update')
  })
})
