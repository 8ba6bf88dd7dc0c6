import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { memoryDatabase } from '../../src/adapters/memory/database.ts'
import { boundCalls } from '../../src/application/bounded-calls.ts'
import type { Database } from '../../src/application/ports/database.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { movableClock } from '../../src/testing/movable-clock.ts'
import { createTestApp, type TestApp } from '../../src/testing/test-app.ts'
import { countedTimers, deferred, turn } from '../support/fakes.ts'
import { until } from '../support/until.ts'

describe('A bounded call', () => {
  /** A store as an instance of a class that ignores its timeout. */
  class Store {
    #response = deferred<string>()
    async find(_id: string, _timeoutMs: number): Promise<string> {
      return this.#response.promise
    }
    cached(id: string, _timeoutMs: number): string | Promise<string> {
      return `cached ${id}`
    }
    async walk(steps: { readonly timeoutMs: number }): Promise<number> {
      return steps.timeoutMs
    }
    respond(text: string): void {
      this.#response.resolve(text)
    }
    fail(error: Error): void {
      this.#response.reject(error)
    }
  }

  it('rejects with Unavailable 100 ms after its timeout, and not before', async () => {
    const clock = countedTimers(movableClock())
    const call = boundCalls(new Store(), clock).find('a', 1000)
    let outcome: unknown = 'pending'
    call.catch((error: unknown) => {
      outcome = error
    })
    clock.advance(1099)
    await turn()
    assert.equal(outcome, 'pending')
    clock.advance(1)
    await assert.rejects(call, Unavailable)
    assert.equal(clock.timers(), 0)
  })

  it('settles like the call of the store, and leaves no timer', async () => {
    const clock = countedTimers(movableClock())
    const [good, bad] = [new Store(), new Store()]
    const calls = [good, bad].map((store) => boundCalls(store, clock).find('a', 1000))
    assert.equal(clock.timers(), 2)
    good.respond('found')
    bad.fail(new Error('a bug'))
    assert.equal(await calls[0], 'found')
    await assert.rejects(calls[1] ?? assert.fail(), /^Error: a bug$/)
    assert.equal(clock.timers(), 0)
  })

  it('ignores what the store returns after the timeout', async () => {
    const clock = movableClock()
    const store = new Store()
    const call = boundCalls(store, clock).find('a', 10)
    clock.advance(110)
    await assert.rejects(call, Unavailable)
    store.fail(new Error('too late'))
    // A rejection without a handler would end the process.
    await turn()
  })

  it('returns a value without a promise, and does not bound a call in steps', async () => {
    const clock = countedTimers(movableClock())
    const store = boundCalls(new Store(), clock)
    assert.equal(store.cached('a', 1000), 'cached a')
    assert.equal(await store.walk({ timeoutMs: 5 }), 5)
    assert.equal(clock.timers(), 0)
  })
})

describe('A service on a database that ignores its timeouts', () => {
  const NEVER = new Promise<never>(() => {})
  let app: TestApp | undefined
  afterEach(() => app?.close())

  /** A database in memory that stops responding. */
  function freezable(): Database & { freeze(): void } {
    const inner = memoryDatabase()
    let isFrozen = false
    const freezing = <Port extends object>(port: Port): Port => {
      const calls = Object.entries(port).map(([name, call]) => [
        name,
        typeof call === 'function' ? (...args: unknown[]) => (isFrozen ? NEVER : call(...args)) : call,
      ])
      return Object.fromEntries(calls)
    }
    return {
      ...inner,
      async open(role, context) {
        const open = await inner.open(role, context)
        const { customers, loginTokens, ready } = open
        return {
          ...open,
          ...freezing({ ready }),
          customers: freezing(customers),
          loginTokens: freezing(loginTokens),
        }
      },
      freeze() {
        isFrozen = true
      },
    }
  }

  it('responds with 503 to requests, and is not ready', async () => {
    const database = freezable()
    app = await createTestApp({ database })
    const { clock } = app
    const ana = await app.customer({ email: 'ana@example.com' })
    const caller = await app.as(ana, { abilities: [] })
    assert.equal((await app.call('/readyz', { method: 'GET' })).status, 200)
    database.freeze()
    const login = app.call('/api/login', { body: { email: ana.email, password: ana.password } })
    const statuses = Promise.all([login, caller.call('/api/me')].map(async (call) => (await call).status))
    let isDone = false
    statuses.finally(() => {
      isDone = true
    })
    await until(() => {
      clock.advance(100)
      return isDone
    })
    assert.deepEqual(await statuses, [503, 503])
    await until(async () => {
      clock.advance(1000)
      return (await (app as TestApp).call('/readyz', { method: 'GET' })).status === 503
    })
  })
})
