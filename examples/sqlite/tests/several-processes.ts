import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Customers, LoginTokens } from 'latchkey/ports'
import type { Asked, Told } from './stores-process.ts'

/** Stores whose calls go round between processes that have one file open, so that races are between those. */
export interface SharedStores {
  on(file: string): { readonly customers: Customers; readonly loginTokens: LoginTokens }
  end(): void
}

/** Starts so many processes. */
export function severalProcesses(count: number): SharedStores {
  const waiting = new Map<number, (told: Told) => void>()
  const children: readonly ChildProcess[] = Array.from({ length: count }, () =>
    fork(fileURLToPath(new URL('stores-process.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] }).on(
      'message',
      (told: Told) => waiting.get(told.id)?.(told),
    ),
  )
  let asked = 0

  return {
    on(file) {
      return {
        customers: port<Customers>(file, 'customers'),
        loginTokens: port<LoginTokens>(file, 'loginTokens', {
          // Neither a signal nor a callback crosses between processes: all steps are one.
          async revokeIssuedBefore(beforeMs, atMs, { timeoutMs, onStep, signal }) {
            if (signal?.aborted) throw signal.reason
            const what = { file, store: 'loginTokens', method: 'revokeIssuedBefore' } as const
            const revoked = Number(await ask({ ...what, values: [beforeMs, atMs, { timeoutMs }] }))
            onStep?.(revoked)
            return revoked
          },
        }),
      }
    },
    end() {
      for (const child of children) child.disconnect()
    },
  }

  function port<Port extends object>(file: string, store: Asked['store'], own: Partial<Port> = {}): Port {
    return new Proxy(own as Port, {
      get: (_, method) =>
        method === 'then' || method in own
          ? own[method as keyof Port]
          : (...values: unknown[]) => ask({ file, store, method: String(method), values }),
    })
  }

  async function ask(what: Omit<Asked, 'id'>): Promise<unknown> {
    const id = ++asked
    const told = await new Promise<Told>((resolve) => {
      waiting.set(id, resolve)
      children[id % count]?.send({ id, ...what } satisfies Asked)
    })
    waiting.delete(id)
    if (told.error !== undefined) throw new Error(told.error)
    // What crosses between processes is a copy, and frozen no more.
    return frozen(told.answer)
  }
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen)
  return Object.freeze(value)
}
