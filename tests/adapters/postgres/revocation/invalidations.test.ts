import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import {
  leaseTimedInvalidations,
  type PostgresInvalidations,
  postgresInvalidations,
} from '../../../../src/adapters/postgres/revocation/invalidations.ts'
import type { InvalidationsEvent } from '../../../../src/adapters/postgres/revocation/suspension.ts'
import { systemClock } from '../../../../src/adapters/system-clock/clock.ts'
import type { Invalidation } from '../../../../src/application/ports/invalidations.ts'
import { invalidationsContract } from '../../../../src/testing/contracts/invalidations.ts'
import { login, storedCustomer } from '../../../../src/testing/stores.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { openPostgresStores, type PostgresStores } from '../../../support/postgres-stores.ts'
import { openTcpProxy, type TcpProxy } from '../../../support/tcp-proxy.ts'
import { until } from '../../../support/until.ts'

const LEASE_MS = 1000

interface Joined extends PostgresInvalidations {
  readonly applied: Invalidation[]
  readonly events: InvalidationsEvent[]
}

const cleanUps: (() => Promise<unknown>)[] = []

/** An instance whose cache is current. */
async function join(
  { url }: Pick<TestDatabase, 'url'>,
  { directUrl = url, strict = true } = {},
): Promise<Joined> {
  const events: InvalidationsEvent[] = []
  const applied: Invalidation[] = []
  const onEvent = (event: InvalidationsEvent) => events.push(event)
  const invalidations = postgresInvalidations({
    url,
    directUrl,
    prepared: true,
    strict,
    clock: systemClock,
    onEvent,
  })
  cleanUps.push(invalidations.close)
  await until(invalidations.isCurrent)
  invalidations.subscribe((invalidation) => applied.push(invalidation))
  return { ...invalidations, applied, events }
}

async function cleanUp(): Promise<void> {
  for (const close of cleanUps.splice(0).reverse()) await close()
}

describe('PostgreSQL with one instance', () => {
  afterEach(cleanUp)
  invalidationsContract('PostgreSQL', async () => {
    const database = await createTestDatabase()
    cleanUps.push(database.drop)
    return join(database)
  })
})

describe('Invalidations among instances', () => {
  let stores: PostgresStores
  before(async () => {
    stores = await openPostgresStores()
  })
  after(() => stores.close())
  afterEach(cleanUp)

  const revokeAll = () =>
    stores.database.sql('update login_tokens set revoked_at = now() where revoked_at is null')
  const signal = (name: string) =>
    stores.database.sql(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()',
      [name],
    )
  async function proxied(): Promise<TcpProxy> {
    const proxy = await openTcpProxy(stores.database.url)
    cleanUps.push(() => proxy.close())
    return proxy
  }

  it('apply a change by another writer on every instance', async () => {
    const [one, other] = [await join(stores.database), await join(stores.database)]
    const { digest } = await login(stores, await storedCustomer(stores))
    await revokeAll()
    for (const { applied } of [one, other]) {
      await until(() => applied.length > 0)
      assert.deepEqual(applied, [{ kind: 'digest', digest }])
    }
  })

  it('resolve a publication after every instance has applied the changes committed before it', async () => {
    const [one, other] = [await join(stores.database), await join(stores.database)]
    await sleep(LEASE_MS)
    const customer = await storedCustomer(stores)
    for (let round = 0; round < 20; round += 1) {
      const { digest } = await login(stores, customer)
      await revokeAll()
      await one.publish({ kind: 'digest', digest })
      assert.ok(other.applied.some((each) => each.kind === 'digest' && each.digest === digest))
    }
  })

  it('send an acknowledgement to its asker alone, or to all for an asker of the version before', async () => {
    const instances = [await join(stores.database), await join(stores.database), await join(stores.database)]
    const heard: string[] = []
    const listener = new Client({ connectionString: stores.database.url })
    await listener.connect()
    cleanUps.push(() => listener.end())
    listener.on('notification', ({ payload = '' }) => heard.push(payload))
    await listener.query('select latchkey_listen()')
    const heardOf = (kind: string) => heard.filter((payload) => payload.startsWith(`1 ${kind} `))

    await sleep(LEASE_MS)
    const beganMs = performance.now()
    for (const one of instances) await one.publish({ kind: 'everything' })
    assert.ok(performance.now() - beganMs < LEASE_MS, 'a lease had to expire')
    await until(() => heardOf('ask').length === instances.length)

    await stores.database.sql("select latchkey_say('1 ask an-earlier-instance 1')")
    await until(() => heardOf('seen').length === instances.length)
    assert.ok(heardOf('seen').every((payload) => payload.endsWith(' an-earlier-instance 1')))
  })

  it('resolve a publication when the lease of an unresponsive instance has expired', async () => {
    const proxy = await proxied()
    const one = await join(stores.database)
    const deaf = await join(stores.database, { directUrl: proxy.url })
    await sleep(LEASE_MS)
    for (let round = 0; round < 3; round += 1) {
      await until(deaf.isCurrent)
      proxy.freeze()
      await one.publish({ kind: 'everything' })
      assert.equal(deaf.isCurrent(), false)
      proxy.thaw()
    }
  })

  it('do not wait in a publication with prompt revocation', async () => {
    const proxy = await proxied()
    await join(stores.database, { directUrl: proxy.url })
    const prompt = await join(stores.database, { strict: false })
    proxy.freeze()
    let isDone = false
    void prompt.publish({ kind: 'everything' }).then(() => {
      isDone = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(isDone, true)
  })

  it('reopen a lost listener connection, and the cache is cleared', async () => {
    const one = await join(stores.database)
    await signal('latchkey listener')
    await until(() => !one.isCurrent())
    await until(one.isCurrent)
    assert.deepEqual(one.applied, [{ kind: 'everything' }])
    const { digest } = await login(stores, await storedCustomer(stores))
    await revokeAll()
    await until(() => one.applied.some((each) => each.kind === 'digest' && each.digest === digest))
  })

  it('reopen a lost heartbeat connection before a lease expires', async () => {
    const one = await join(stores.database)
    for (let round = 0; round < 3; round += 1) {
      assert.equal((await signal('latchkey heartbeat')).length, 1)
      await sleep(LEASE_MS)
      await until(one.isCurrent)
    }
    assert.deepEqual(one.applied, [])
  })

  it('replace a silent listener connection, and report suspended caching and its end once each', async () => {
    const proxy = await proxied()
    const one = await join(stores.database, { directUrl: proxy.url })
    proxy.freeze()
    await until(() => one.events.length === 1)
    assert.equal(one.events[0]?.kind, 'suspended')
    assert.equal(one.isCurrent(), false)
    proxy.thaw()
    await until(() => one.events.length === 2)
    assert.deepEqual(
      one.events.map(({ kind }) => kind),
      ['suspended', 'resumed'],
    )
    assert.equal(one.isCurrent(), true)
  })

  it('replace a silent heartbeat connection', async () => {
    const proxy = await proxied()
    const one = await join({ url: proxy.url }, { directUrl: stores.database.url })
    proxy.freeze()
    await until(() => !one.isCurrent())
    await sleep(LEASE_MS)
    proxy.thaw()
    await until(one.isCurrent)
  })

  it('clear the cache after a notification that cannot be decoded, report it once, and keep the lease', async () => {
    const one = await join(stores.database)
    for (const payload of ['3 whatever', '', '1 unheard-of x'])
      await stores.database.sql("select pg_notify('latchkey', $1), latchkey_say($1)", [payload])
    await until(() => one.applied.length === 6)
    assert.deepEqual(one.applied, Array(6).fill({ kind: 'everything' }))
    await until(one.isCurrent)
    assert.deepEqual(
      one.events.map(({ kind }) => kind),
      ['not_understood'],
    )
  })

  it('use the new name of the channel after it has changed', async () => {
    const one = await join(stores.database)
    await stores.database.sql("update latchkey_channel set name = 'latchkey_other'")
    const { digest } = await login(stores, await storedCustomer(stores))
    await until(() => !one.isCurrent())
    await until(one.isCurrent)
    await revokeAll()
    await until(() => one.applied.some((each) => each.kind === 'digest' && each.digest === digest))
  })

  it('stop the use of the cache and leave no connection after close', async () => {
    const one = await join(stores.database)
    await one.close()
    assert.equal(one.isCurrent(), false)
    let left = 2
    const endMs = performance.now() + 20_000
    while (left > 0) {
      assert.ok(performance.now() < endMs, `${left} connections are left`)
      const rows = await stores.database.sql(
        "select from pg_stat_activity where datname = current_database() and application_name like 'latchkey %'",
      )
      left = rows.length
    }
  })
})

describe('A process without a cache', () => {
  it('acknowledges a change when every lease has ended that was granted before it', async () => {
    const { publish, isCurrent } = leaseTimedInvalidations()
    const beganMs = performance.now()
    await publish({ kind: 'everything' })
    assert.ok(performance.now() - beganMs >= LEASE_MS - 1)
    assert.equal(isCurrent(), false)
  })
})
