import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Customers, LoginTokens } from 'latchkey/ports'
import type { Call, Reply } from './stores-process.ts'

/** Stores whose calls alternate between processes with the same file, so that races are between processes. */
export interface SharedStores {
  on(file: string): { readonly customers: Customers; readonly loginTokens: LoginTokens }
  end(): void
}

/** Starts this number of processes. */
export function severalProcesses(count: number): SharedStores {
  const waiting = new Map<number, (reply: Reply) => void>()
  const children: readonly ChildProcess[] = Array.from({ length: count }, () =>
    fork(fileURLToPath(new URL('stores-process.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] }).on(
      'message',
      (reply: Reply) => waiting.get(reply.id)?.(reply),
    ),
  )
  let asked = 0

  return {
    on(file) {
      return {
        customers: port<Customers>(file, 'customers'),
        loginTokens: port<LoginTokens>(file, 'loginTokens', {
          // Signals and callbacks cannot be sent to another process: all steps are one.
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

  function port<Port extends object>(file: string, store: Call['store'], own: Partial<Port> = {}): Port {
    return new Proxy(own as Port, {
      get: (_, method) =>
        method === 'then' || method in own
          ? own[method as keyof Port]
          : (...values: unknown[]) => ask({ file, store, method: String(method), values }),
    })
  }

  async function ask(what: Omit<Call, 'id'>): Promise<unknown> {
    const id = ++asked
    const reply = await new Promise<Reply>((resolve) => {
      waiting.set(id, resolve)
      children[id % count]?.send({ id, ...what } satisfies Call)
    })
    waiting.delete(id)
    if (reply.error !== undefined) throw new Error(reply.error)
    // A value from another process is a copy that is not frozen.
    return frozen(reply.result)
  }
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen)
  return Object.freeze(value)
}
