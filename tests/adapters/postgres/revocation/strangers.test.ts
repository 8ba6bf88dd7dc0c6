import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, afterEach, before, describe, it } from 'node:test'
import { Client } from 'pg'
import { checkTriggers } from '../../../../src/adapters/postgres/diagnostics/check-server.ts'
import {
  type PostgresInvalidations,
  postgresInvalidations,
} from '../../../../src/adapters/postgres/revocation/invalidations.ts'
import { systemClock } from '../../../../src/adapters/system-clock/clock.ts'
import { login, storedCustomer } from '../../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../../support/postgres-stores.ts'
import { openTcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

describe('A role that may only connect', () => {
  const role = `latchkey_stranger_${randomBytes(6).toString('hex')}`
  let stores: PostgresStores
  let stranger: Client
  before(async () => {
    stores = await openPostgresStores()
    await stores.database.sql(`create role ${role}`)
    stranger = new Client({ connectionString: stores.database.url })
    await stranger.connect()
    await stranger.query(`set session authorization ${role}`)
  })
  after(async () => {
    await stranger.end()
    await stores.close()
    // Roles belong to the server, not to the database of the test.
    const server = new Client({ connectionString: process.env.TEST_DATABASE_URL })
    await server.connect()
    await server.query(`drop role ${role}`)
    await server.end()
  })

  const cleanUps: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of cleanUps.splice(0).reverse()) await close()
  })

  async function join(directUrl = stores.database.url): Promise<PostgresInvalidations> {
    const { url } = stores.database
    const invalidations = postgresInvalidations({
      url,
      directUrl,
      prepared: true,
      strict: true,
      clock: systemClock,
      onEvent() {},
    })
    cleanUps.push(invalidations.close)
    await until(invalidations.isCurrent)
    return invalidations
  }

  it('cannot learn the name of the channel, send on it, or use the functions of the triggers', async () => {
    await stranger.query(`set search_path = public`)
    for (const forbidden of [
      'select name from latchkey_channel',
      "select latchkey_say('1 forget')",
      'select latchkey_listen()',
      "select latchkey_send('1 forget')",
      "select latchkey_listen_as('@a')",
      "select latchkey_own_channel('@a')",
      "select latchkey_publish('digests', array['d1'])",
      "select latchkey_announce('digests', array['d1'])",
    ])
      await assert.rejects(stranger.query(forbidden), { code: '42501' }, forbidden)
    await stranger.query('create temporary table login_tokens (id int)')
    const { rows } = await stranger.query<{ name: string }>(
      `select proname as name from pg_proc where proname like 'latchkey%' and prorettype = 'trigger'::regtype`,
    )
    assert.ok(rows.length >= 12)
    for (const { name } of rows)
      await assert.rejects(
        stranger.query(
          `create trigger mine after insert on login_tokens for each statement execute function public.${name}()`,
        ),
        { code: '42501' },
        name,
      )
  })

  it('cannot make an instance acknowledge while another with a stalled connection uses its cache', async () => {
    const proxy = await openTcpProxy(stores.database.url)
    cleanUps.push(() => proxy.close())
    const one = await join()
    const stalled = await join(proxy.url)
    const names = new Set<string>()
    stranger.on('notification', ({ payload = '' }) => names.add(payload.split(' ')[2] ?? ''))
    await stranger.query('listen latchkey')
    await until(async () => {
      await stranger.query('select 1')
      return names.size === 2
    })
    const forged = [...names].flatMap((name) => [
      `1 bye ${name}`,
      ...[...names].flatMap((asker) =>
        Array.from({ length: 20 }, (_, n) => `1 seen ${name} ${asker} ${n + 1}`),
      ),
    ])
    for (let round = 0; round < 3; round += 1) {
      await until(stalled.isCurrent)
      proxy.freeze()
      let isPublished = false
      const published = one.publish({ kind: 'everything' }).then(() => {
        isPublished = true
        assert.equal(stalled.isCurrent(), false)
      })
      while (!isPublished)
        await stranger.query("select pg_notify('latchkey', payload) from unnest($1::text[]) as payload", [
          forged,
        ])
      await published
      proxy.thaw()
    }
  })

  it('cannot end the lease of an instance', async () => {
    const one = await join()
    for (let message = 0; message < 50; message += 1)
      await stranger.query("select pg_notify('latchkey', $1)", [`hello ${message}`])
    await until(one.isCurrent)
  })

  it('makes the service refuse to start where it may create functions beside those of the triggers', async () => {
    await stores.database.sql('grant create on schema public to public')
    await assert.rejects(checkTriggers(stores.database.url), {
      message: /revoke create on schema public from public;/,
    })
    await stores.database.sql('revoke create on schema public from public')
    await checkTriggers(stores.database.url)
  })

  it('with grants on the tables alone changes a token with an empty search_path, and is heard', async () => {
    await stores.database.sql(`grant select, update on customers, login_tokens to ${role}`)
    const one = await join()
    const applied: unknown[] = []
    one.subscribe((invalidation) => applied.push(invalidation))
    const customer = await storedCustomer(stores)
    const { digest } = await login(stores, customer)
    await stranger.query("set search_path = ''")
    await stranger.query('update public.login_tokens set revoked_at = now()')
    await stranger.query('update public.customers set name = $1', ['changed'])
    await until(() => applied.length === 2)
    assert.deepEqual(applied, [
      { kind: 'digest', digest },
      { kind: 'customer', customerId: customer.id },
    ])
    await stores.database.sql(`revoke all on customers, login_tokens from ${role}`)
  })
})
