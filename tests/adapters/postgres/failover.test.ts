import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { withDirectClient } from '../../../src/adapters/postgres/connection/direct-client.ts'
import { openPool } from '../../../src/adapters/postgres/connection/pool.ts'
import { serverFaults } from '../../../src/adapters/postgres/connection/server-faults.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { login, storedCustomer } from '../../../src/testing/stores.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'

describe('The pool around a failover', () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores({ max: 4 })
  })
  after(() => stores.close())

  // Proof row H7
  it('rejects writes while sessions are read-only, and recovers with the next call', async (t) => {
    const customer = await storedCustomer(stores)
    const { digest } = await login(stores, customer)
    await setOnDatabase(stores, 'default_transaction_read_only = on')
    await useAllConnections(stores)
    await stores.database.sql(
      'select pg_terminate_backend(pid, 30000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    await useAllConnections(stores).catch(() => {})
    await useAllConnections(stores)

    await assert.rejects(login(stores, customer), causedBy('25006'))
    assert.ok(await stores.loginTokens.findByDigest(digest, 1000))
    assert.ok(stores.events.some(({ kind }) => kind === 'read_only'))
    await useAllConnections(stores)

    await setOnDatabase(stores, 'default_transaction_read_only = off')
    const beganMs = performance.now()
    await assert.rejects(login(stores, customer), causedBy('25006'))
    // All four connections were of read-only sessions: one refusal replaced them all.
    for (let attempt = 0; attempt < 4; attempt += 1) assert.ok((await login(stores, customer)).accepted)
    const healedMs = performance.now() - beganMs
    t.diagnostic(`H7: healed after 1 refusal and ${Math.round(healedMs)} ms`)
  })

  it('rejects a standby', async () => {
    // A standby as far as a session can tell.
    await stores.database.sql('create schema fake')
    await stores.database.sql(
      "create function fake.pg_is_in_recovery() returns boolean language sql as 'select true'",
    )
    await setOnDatabase(stores, 'search_path = fake, pg_catalog, public')
    const kinds: string[] = []
    const pool = openPool({
      url: stores.database.url,
      max: 2,
      prepared: true,
      onEvent: ({ kind }) => kinds.push(kind),
    })
    const query = () => pool.run(1000, (session) => session.query({ name: 'test_one', text: 'select 1' }, []))
    await assert.rejects(query(), Unavailable)
    const faults = await withDirectClient(stores.database.url, async (client) => {
      await client.query('set search_path = fake, pg_catalog, public')
      return serverFaults(client)
    })
    assert.deepEqual(faults, [
      { isFatal: true, sentence: 'The database is a standby: the address of the primary is needed.' },
    ])
    assert.deepEqual(kinds, ['standby_refused'])
    assert.equal(pool.size(), 0)

    await setOnDatabase(stores, 'search_path = public')
    await query()
    await pool.close()
  })
})

async function setOnDatabase({ database }: PostgresStores, setting: string): Promise<void> {
  const name = new URL(database.url).pathname.slice(1)
  await database.sql(`begin read write; alter database ${name} set ${setting}; commit`)
}

async function useAllConnections({ pool }: PostgresStores): Promise<void> {
  const wait = { name: 'test_pause', text: 'select pg_sleep(0.1)' }
  await Promise.all(Array.from({ length: 4 }, () => pool.run(1000, (session) => session.query(wait, []))))
}

function causedBy(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Unavailable && (error.cause as { code?: string }).code === code
}
