import { memoryCustomers } from '../../../src/adapters/memory/customers.ts'
import { memoryLoginTokens } from '../../../src/adapters/memory/login-tokens.ts'
import { type MemoryStore, memoryStore } from '../../../src/adapters/memory/store.ts'
import type { Customers } from '../../../src/application/ports/customers.ts'
import type { LoginTokens } from '../../../src/application/ports/login-tokens.ts'
import { Unavailable } from '../../../src/domain/errors.ts'
import { authenticates } from '../../../src/domain/login-token.ts'
import { aCustomer } from '../../../src/testing/builders.ts'
import { hashOf } from '../fakes.ts'
import type { History, Known } from './history.ts'
import type { Network } from './network.ts'
import { type Run, START_MS } from './run.ts'
import type { Sleeper } from './timeline.ts'
import { payloadsForChange } from './triggers.ts'

/** The database that all instances share. */
export interface Database {
  readonly store: MemoryStore
  /** The store. Each call takes effect in one step. */
  readonly tokens: LoginTokens
  readonly customers: Customers
  /** Sends a call, applies it in one step and returns its response. Some calls fail, some lose their response. */
  call<T>(caller: Sleeper, effect: () => Promise<T>): Promise<T>
  /** Applies a change and publishes what the triggers would. The triggers may have run on the older state `seen`. */
  change<T>(make: () => Promise<T>, seen?: MemoryStore): Promise<T>
  /** A copy of the current store. */
  snapshot(): MemoryStore
  addCustomer(id: string): Promise<unknown>
  addToken(customerId: string, name: string): Promise<void>
  /** Enables a customer and removes the customer's earlier tokens. */
  reopen(customerId: string): Promise<void>
}

export function createDatabase({ parts, time, chance }: Run, history: History, network: Network): Database {
  const store = memoryStore()
  const tokens = memoryLoginTokens(store)
  const customers = memoryCustomers(store)
  return { store, tokens, customers, call, change, snapshot, addCustomer, addToken, reopen }

  function call<T>(caller: Sleeper, effect: () => Promise<T>): Promise<T> {
    const course = chance.isCalm ? 1 : chance.random()
    return new Promise((resolve, reject) => {
      time.after(chance.travelling(), () => {
        const result = course < 0.02 ? Promise.reject(new Unavailable()) : effect()
        result.catch(() => {})
        respond(() => (course < 0.06 ? reject(new Unavailable()) : resolve(result)))
      })

      function respond(by: () => void): void {
        time.after(
          chance.travelling(),
          () => {
            time.wakes = true
            by()
          },
          caller,
        )
      }
    })
  }

  function change<T>(make: () => Promise<T>, seen: MemoryStore = snapshot()): Promise<T> {
    const before = snapshot()
    // In memory a change is applied before the call returns.
    const result = make()
    if (network.triggers.isEnabled) {
      for (const payload of payloadsForChange(before, store, seen, parts.customersAsDigests))
        network.notify(payload)
    }
    for (const token of history.known) {
      if (!isGood(token)) token.endedMs = Math.min(token.endedMs, time.nowMs)
    }
    return result
  }

  function snapshot(): MemoryStore {
    return { ...store, customers: new Map(store.customers), tokens: new Map(store.tokens) }
  }

  function isGood({ digest }: Known): boolean {
    const token = store.tokens.get(digest)
    const owner = token && store.customers.get(token.customerId)
    return token && owner ? authenticates({ token, customer: owner.customer }, -Infinity) : false
  }

  function addCustomer(id: string): Promise<unknown> {
    return customers.add({ customer: aCustomer({ id, email: id }), passwordHash: hashOf('right') }, 1000)
  }

  async function addToken(customerId: string, name: string): Promise<void> {
    const { token, digest } = history.newToken(customerId, name, START_MS + time.nowMs)
    history.know(token, digest)
    time.wakes = true
    await tokens.add(token, digest, 1000)
  }

  async function reopen(id: string): Promise<void> {
    if (store.customers.get(id)?.customer.disabledAtMs === null) return
    await change(() => customers.delete(id, 1000))
    await change(() => addCustomer(id))
  }
}
