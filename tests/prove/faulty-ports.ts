import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'

/** A call that a request made of a port: the n-th of that port, from 1. */
export interface PortCall {
  readonly port: string
  readonly method: string
  readonly n: number
  readonly isAsync: boolean
}

/** What becomes of a call: `proceed` makes it, `last` is the last thing that it was given. */
export type Fate = (proceed: () => unknown, last: unknown) => unknown

/** What one request does with its ports, and the call of which something else becomes. */
export interface PortRun {
  /** In their order. */
  readonly calls: PortCall[]
  readonly struck?: { readonly call: PortCall; readonly fate: Fate }
}

/** Whether it is the same call: the n-th of its port, of the same method. */
export function isSame(one: PortCall, other: PortCall): boolean {
  return one.port === other.port && one.method === other.method && one.n === other.n
}

/** Ports whose calls are counted, and may fail, for one request and for nobody else. */
export interface FaultyPorts {
  /** The port, under a name; outside a run it is as it was. */
  named<Port extends object>(name: string, port: Port): Port
  /** Makes a call in a run; a request belongs to it when it carries the id as its `X-Request-Id`. */
  during<T>(run: PortRun, call: (requestId: string) => Promise<T>): Promise<T>
  close(): void
}

export function faultyPorts(): FaultyPorts {
  const current = new AsyncLocalStorage<PortRun | undefined>()
  const runs = new Map<string, PortRun>()
  const begin = (message: unknown) => {
    const { request } = message as { request: IncomingMessage }
    current.enterWith(runs.get(String(request.headers['x-request-id'])))
  }
  subscribe('http.server.request.start', begin)

  return {
    named: (name, port) =>
      new Proxy(port, {
        get(target, method) {
          const called = Reflect.get(target, method)
          if (typeof called !== 'function') return called
          return (...args: unknown[]) => {
            const run = current.getStore()
            const proceed = () => called.apply(target, args)
            return run === undefined ? proceed() : callIn(run, name, String(method), proceed, args.at(-1))
          }
        },
      }),

    async during(run, call) {
      const requestId = randomUUID()
      runs.set(requestId, run)
      try {
        return await current.run(run, () => call(requestId))
      } finally {
        runs.delete(requestId)
      }
    },

    close: () => unsubscribe('http.server.request.start', begin),
  }
}

function callIn(
  { calls, struck }: PortRun,
  port: string,
  method: string,
  proceed: () => unknown,
  last: unknown,
): unknown {
  const n = 1 + calls.filter((earlier) => earlier.port === port).length
  const call = { port, method, n, isAsync: false }
  calls.push(call)
  const answer = struck !== undefined && isSame(call, struck.call) ? struck.fate(proceed, last) : proceed()
  call.isAsync = answer instanceof Promise
  return answer
}
