import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Customers } from '../../application/ports/customers.ts'
import type { LoginTokens, NewLogin } from '../../application/ports/login-tokens.ts'
import type { OneTimeTokens } from '../../application/ports/one-time-tokens.ts'
import { Unavailable } from '../../domain/errors.ts'
import type { DatabaseEnv } from './context.ts'
import { type DatabaseCall, type DatabaseReply, type SentDecision, Undecided } from './process.ts'

/** Several processes with one database. */
export interface DatabaseProcesses {
  /** Returns stores whose calls alternate between the processes, so that their races are between processes. */
  stores(env: DatabaseEnv): {
    readonly customers: Customers
    readonly loginTokens: LoginTokens
    readonly oneTimeTokens: OneTimeTokens
  }
  /** Applies the pending migrations in every process at the same time; returns the names that each applied. */
  migrate(env: DatabaseEnv): Promise<readonly (readonly string[])[]>
  /** Closes the database in every process. */
  close(): Promise<void>
  /** Ends the processes. */
  end(): Promise<void>
}

/**
 * Starts this number of processes. `start` forks a program that calls `runDatabaseProcess`, and returns the child.
 */
export function startDatabaseProcesses(count: number, start: () => ChildProcess): DatabaseProcesses {
  const waiting = new Map<number, (reply: DatabaseReply) => void>()
  const children = Array.from({ length: count }, () => {
    const child = start().on('message', (reply: DatabaseReply) => waiting.get(reply.id)?.(reply))
    // A call to a process that has ended would never return.
    child.on('exit', (code) => {
      const error = { message: `A database process ended with code ${code}.`, isUnavailable: false }
      for (const [id, settle] of waiting) settle({ id, error })
    })
    return child
  })
  let calls = 0

  return {
    stores: (env) => ({
      customers: port<Customers>(env, 'customers'),
      oneTimeTokens: port<OneTimeTokens>(env, 'oneTimeTokens'),
      loginTokens: port<LoginTokens>(env, 'loginTokens', {
        replace: (entry, timeoutMs) => replace(env, entry, timeoutMs),
        // Signals and callbacks cannot be sent to another process: all steps are one.
        async revokeIssuedBefore(beforeMs, atMs, { timeoutMs, onStep, signal }) {
          if (signal?.aborted) throw signal.reason
          const args = [beforeMs, atMs, { timeoutMs }]
          const revoked = Number(
            await call({ env, store: 'loginTokens', method: 'revokeIssuedBefore', args }),
          )
          onStep?.(revoked)
          return revoked
        },
      }),
    }),
    migrate: (env) => inEach<readonly string[]>({ env, store: null, method: 'migrate', args: [] }),
    async close() {
      await inEach({ env: {}, store: null, method: 'close', args: [] })
    },
    async end() {
      await Promise.all(
        children.map(async (child) => {
          if (child.exitCode !== null || child.signalCode !== null) return
          const exit = once(child, 'exit')
          child.disconnect()
          await exit
        }),
      )
    },
  }

  /** Decides here, and again whenever the process found other sessions in its transaction. */
  async function replace(
    env: DatabaseEnv,
    { admit, ...entry }: NewLogin,
    timeoutMs: number,
  ): Promise<number | 'full' | null> {
    const login = { env, store: 'loginTokens', method: 'replace', args: [entry, timeoutMs] } as const
    type Replaced = ReturnType<LoginTokens['replace']>
    if (admit === undefined) return call(login) as Replaced
    for (let decision: SentDecision = null; ; ) {
      try {
        return await (call({ ...login, decision }) as Replaced)
      } catch (error) {
        if (!(error instanceof Undecided)) throw error
        decision = { held: error.held, admission: admit(error.held) }
      }
    }
  }

  function port<Port extends object>(
    env: DatabaseEnv,
    store: DatabaseCall['store'],
    own: Partial<Port> = {},
  ): Port {
    return new Proxy(own as Port, {
      get: (_, method) =>
        method === 'then' || method in own
          ? own[method as keyof Port]
          : (...args: unknown[]) => call({ env, store, method: String(method), args }),
    })
  }

  function inEach<Result>(what: Omit<DatabaseCall, 'id'>): Promise<Result[]> {
    return Promise.all(children.map((child) => call(what, child) as Promise<Result>))
  }

  async function call(what: Omit<DatabaseCall, 'id'>, child = children[calls % count]): Promise<unknown> {
    const id = ++calls
    const reply = await new Promise<DatabaseReply>((resolve, reject) => {
      waiting.set(id, resolve)
      child?.send({ id, ...what } satisfies DatabaseCall, (error) => error && reject(error))
    })
    waiting.delete(id)
    if (reply.error?.isUnavailable) throw new Unavailable()
    if (reply.error?.held !== undefined) throw new Undecided(reply.error.held)
    if (reply.error !== undefined) throw new Error(reply.error.message)
    // A value from another process is a copy that is not frozen.
    return freeze(reply.result)
  }
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(freeze)
  return Object.freeze(value)
}
