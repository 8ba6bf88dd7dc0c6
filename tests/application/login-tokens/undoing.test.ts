import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { memoryCustomers } from '../../../src/adapters/memory/customers.ts'
import { memoryLoginTokens } from '../../../src/adapters/memory/login-tokens.ts'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { undoUnknownLogins } from '../../../src/application/login-tokens/undoing.ts'
import type { LoginTokens } from '../../../src/application/ports/login-tokens.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { movableClock } from '../../../src/testing/movable-clock.ts'
import { login, storedCustomer } from '../../../src/testing/stores.ts'
import { countedTimers, turn } from '../../support/fakes.ts'
import { until } from '../../support/until.ts'

let clock: ReturnType<typeof countedTimers<ReturnType<typeof movableClock>>>
let isDown: boolean
let stores: Parameters<typeof storedCustomer>[0]
/** Runs when the database is reached again, as a transaction that was on its way. */
let late: (() => Promise<unknown>)[]

beforeEach(() => {
  clock = countedTimers(movableClock())
  isDown = false
  late = []
  const store = memoryStore()
  const inner = memoryLoginTokens(store)
  const loginTokens: LoginTokens = {
    ...inner,
    async replace(entry, timeoutMs) {
      if (!isDown) return inner.replace(entry, timeoutMs)
      late.push(() => inner.replace(entry, timeoutMs))
      throw new Unavailable()
    },
    async revokeByCustomer(...args) {
      if (isDown) throw new Unavailable()
      return inner.revokeByCustomer(...args)
    },
  }
  stores = { customers: memoryCustomers(store), loginTokens, dispose: async () => {} }
})

/** Lets the clock advance in seconds. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1000)
    for (let turns = 0; turns < 5; turns++) await turn()
  }
}

const intoSlot = (slot: number) => () => ({ slot, revoked: [], moved: [] })

describe('A login whose outcome is unknown', () => {
  it('loses its token once the database responds, even if it commits later; others keep theirs', async () => {
    const { loginTokens } = undoUnknownLogins(stores.loginTokens, stores.loginTokens, clock)
    const customer = await storedCustomer(stores)
    const certain = await login({ ...stores, loginTokens }, customer, {}, intoSlot(1))
    isDown = true
    await assert.rejects(login({ ...stores, loginTokens }, customer, {}, intoSlot(2)), Unavailable)
    await pass(5)
    isDown = false
    await pass(3)
    for (const commit of late) await commit()
    assert.equal((await loginTokens.listSessions(customer.id, 1000)).length, 2)
    await pass(5)
    const left = await loginTokens.listSessions(customer.id, 1000)
    assert.deepEqual(
      left.map(({ id }) => id),
      [certain.token.id],
    )
    await pass(20)
    assert.equal(clock.timers(), 0)
  })

  it('is not followed once the service stops', async () => {
    const { loginTokens, close } = undoUnknownLogins(stores.loginTokens, stores.loginTokens, clock)
    const customer = await storedCustomer(stores)
    isDown = true
    await assert.rejects(login({ ...stores, loginTokens }, customer), Unavailable)
    await pass(3)
    close()
    assert.equal(clock.timers(), 0)
  })

  it('is not followed when it fails after the service stopped', async () => {
    const { loginTokens, close } = undoUnknownLogins(stores.loginTokens, stores.loginTokens, clock)
    const customer = await storedCustomer(stores)
    close()
    isDown = true
    await assert.rejects(login({ ...stores, loginTokens }, customer), Unavailable)
    assert.equal(clock.timers(), 0)
  })

  it('is followed no further once the service stops during a revocation', async () => {
    const revoked: unknown[] = []
    const { loginTokens, close } = undoUnknownLogins(
      stores.loginTokens,
      {
        ...stores.loginTokens,
        async revokeByCustomer(customerId) {
          revoked.push(customerId)
          close()
          return 1
        },
      },
      clock,
    )
    isDown = true
    for (const customer of [await storedCustomer(stores), await storedCustomer(stores)])
      await assert.rejects(login({ ...stores, loginTokens }, customer), Unavailable)
    await pass(20)
    assert.equal(revoked.length, 1)
    assert.equal(clock.timers(), 0)
  })

  it('is not followed when the store refused it for another reason', async () => {
    const failure = new Error('A token with this id exists.')
    const { loginTokens } = undoUnknownLogins(
      { ...stores.loginTokens, replace: () => Promise.reject(failure) },
      stores.loginTokens,
      clock,
    )
    const customer = await storedCustomer(stores)
    await assert.rejects(login({ ...stores, loginTokens }, customer), failure)
    assert.equal(clock.timers(), 0)
  })

  it('is forgotten when 10,000 newer ones wait, so that memory stays bounded', async () => {
    const { loginTokens, close } = undoUnknownLogins(stores.loginTokens, stores.loginTokens, clock)
    const [first, second] = [await storedCustomer(stores), await storedCustomer(stores)]
    isDown = true
    await assert.rejects(login({ ...stores, loginTokens }, first), Unavailable)
    for (let count = 0; count < 10_000; count++)
      await assert.rejects(login({ ...stores, loginTokens }, second), Unavailable)
    isDown = false
    for (const commit of [late[0], late[1]]) await commit?.()
    clock.advance(1000)
    await until(async () => (await stores.loginTokens.listSessions(second.id, 1000)).length === 0)
    assert.equal((await stores.loginTokens.listSessions(first.id, 1000)).length, 1)
    close()
  })
})
