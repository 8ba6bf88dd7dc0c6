import { setTimeout as sleep } from 'node:timers/promises'
import { memoryCustomers } from '../../src/adapters/memory/customers.ts'
import { memoryLoginTokens } from '../../src/adapters/memory/login-tokens.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import type { LoginTokens } from '../../src/application/ports/login-tokens.ts'
import { Unavailable } from '../../src/domain/errors.ts'
import { methods } from '../../src/lib/methods.ts'
import type { Release } from '../../src/testing/holds.ts'
import type { Stores } from '../../src/testing/stores.ts'

/** Waits until `opened` resolves, at most `timeoutMs` milliseconds. */
export type Wait = (opened: Promise<void>, timeoutMs: number) => Promise<void>

/** A gate that is open until a test closes it. */
export interface Gate {
  isClosed(): boolean
  close(): Promise<Release>
  /** Waits at a closed gate. */
  pass(wait: Wait, timeoutMs: number): Promise<void>
}

export function createGate(): Gate {
  let opened: Promise<void> | null = null
  return {
    isClosed: () => opened !== null,
    async close() {
      let open = () => {}
      opened = new Promise((resolve) => {
        open = resolve
      })
      return async () => {
        opened = null
        open()
      }
    },
    async pass(wait, timeoutMs) {
      if (opened !== null) await wait(opened, timeoutMs)
    },
  }
}

/** Waits as an adapter must. */
export const waitInTime: Wait = (opened, timeoutMs) =>
  Promise.race([opened, sleep(timeoutMs).then(() => Promise.reject(new Unavailable()))])

/** What an adapter with a fault does differently. */
export interface StoreFaults {
  readonly waitStalled?: Wait
  readonly waitLocked?: Wait
  /** Replaces methods of the tokens; `locks` is closed while a token is locked, `pruning` while another process prunes. */
  readonly replaced?: (inner: LoginTokens, locks: Gate, pruning: Gate) => Partial<LoginTokens>
}

/** Creates stores in memory that a test can disturb. Without faults, they pass every sentence. */
export function disturbedStores({
  waitStalled = waitInTime,
  waitLocked = waitInTime,
  replaced = () => ({}),
}: StoreFaults = {}): Stores {
  const [network, locks, pruning] = [createGate(), createGate(), createGate()]
  const memory = memoryStore()
  const customers = memoryCustomers(memory)
  const inner = memoryLoginTokens(memory)
  const lockable = ['revoke', 'revokeByCustomer', 'disable', 'resetPassword']
  const loginTokens: LoginTokens = {
    ...inner,
    async touch(uses, timeoutMs) {
      return locks.isClosed() ? uses.map(({ id }) => id) : inner.touch(uses, timeoutMs)
    },
    prune: async (...args) => (pruning.isClosed() ? null : inner.prune(...args)),
    ...replaced(inner, locks, pruning),
  }
  return {
    customers: gated(customers),
    loginTokens: gated(loginTokens),
    stall: network.close,
    lockToken: locks.close,
    holdPrune: pruning.close,
    dispose: async () => {},
  }

  function gated<Port extends object>(port: Port): Port {
    const calls = Object.entries(methods(port)).map(([name, call]) => [
      name,
      async (...args: readonly unknown[]) => {
        const last = args.at(-1)
        const timeoutMs = typeof last === 'number' ? last : (last as { timeoutMs: number }).timeoutMs
        await network.pass(waitStalled, timeoutMs)
        if (lockable.includes(name)) await locks.pass(waitLocked, timeoutMs)
        return call(...args)
      },
    ])
    return Object.fromEntries(calls)
  }
}
