import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readConfiguration } from '../../../src/adapters/config/read-configuration.ts'
import { memoryDatabase } from '../../../src/adapters/memory/database.ts'
import { pinoLog } from '../../../src/adapters/pino/log.ts'
import type { Invalidation } from '../../../src/application/ports/invalidations.ts'
import { databaseContract } from '../../../src/testing/contracts/database.ts'
import { movableClock } from '../../../src/testing/movable-clock.ts'
import { login, storedCustomer } from '../../../src/testing/stores.ts'

databaseContract('the memory', async () => ({ database: memoryDatabase(), env: {}, dispose: async () => {} }))

describe('A database in memory', () => {
  const clock = movableClock(Date.now())
  const context = {
    configuration: readConfiguration({ env: {}, dotEnv: null }).configuration,
    log: pinoLog({ level: 'silent' }),
    clock,
  }

  it('keeps its data and its invalidations when it is closed and opened again', async () => {
    const database = memoryDatabase()
    const one = await database.open('service', context)
    const customer = await storedCustomer({ ...one, dispose: async () => {} })
    const received: Invalidation[] = []
    one.invalidations?.subscribe((invalidation) => received.push(invalidation))
    const other = await database.open('command', context)
    assert.equal((await other.customers.findByEmail(customer.email, 1000))?.customer.id, customer.id)
    await other.invalidations?.publish({ kind: 'everything' })
    assert.deepEqual(received, [{ kind: 'everything' }])
    await other.close()
    assert.equal(await one.ready(1000), true)
  })

  it('counts only active tokens', async () => {
    const opened = await memoryDatabase().open('service', context)
    const stores = { ...opened, dispose: async () => {} }
    const customer = await storedCustomer(stores)
    for (let logins = 0; logins < 2; logins++)
      await login(stores, customer, { createdAtMs: clock.nowMs(), expiresAtMs: clock.nowMs() + 1000 })
    assert.equal(await opened.countActiveTokens?.(), 1)
    clock.advance(1000)
    assert.equal(await opened.countActiveTokens?.(), 0)
  })

  it('has no migrations', async () => {
    const database = memoryDatabase()
    assert.deepEqual([await database.migrate(context), await database.pendingMigrations(context)], [[], []])
  })
})
