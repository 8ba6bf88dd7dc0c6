import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'

/** A port call of a request: the n-th of that port, from 1. */
export interface PortCall {
  readonly port: string
  readonly method: string
  readonly n: number
  readonly isAsync: boolean
}

/** Decides the outcome of a call. `proceed` makes it; `last` is its last argument. */
export type Fate = (proceed: () => unknown, last: unknown) => unknown

/** The port calls of one request, and the one whose outcome is changed. */
export interface PortRun {
  /** The calls in their order. */
  readonly calls: PortCall[]
  readonly struck?: { readonly call: PortCall; readonly fate: Fate }
}

/** Whether both are the same call: the n-th of its port, of the same method. */
export function isSameCall(one: PortCall, other: PortCall): boolean {
  return one.port === other.port && one.method === other.method && one.n === other.n
}

/** Ports that count the calls of one request and can make one fail, without effect on other requests. */
export interface FaultyPorts {
  /** Returns the port, registered under a name. Outside a run it is unchanged. */
  named<Port extends object>(name: string, port: Port): Port
  /** Makes a call in a run. A request belongs to the run when its `X-Request-Id` is the run's id. */
  during<T>(run: PortRun, call: (requestId: string) => Promise<T>): Promise<T>
  close(): void
}

export function createFaultyPorts(): FaultyPorts {
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
  const response =
    struck !== undefined && isSameCall(call, struck.call) ? struck.fate(proceed, last) : proceed()
  call.isAsync = response instanceof Promise
  return response
}
