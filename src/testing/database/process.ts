import type { Database, OpenDatabase } from '../../application/ports/database.ts'
import { Unavailable } from '../../domain/errors.ts'
import { type DatabaseEnv, databaseContext } from './context.ts'

/** A call that another process sends: `migrate`, or a method of a store of the open database. */
export interface DatabaseCall {
  readonly id: number
  readonly env: DatabaseEnv
  readonly store: 'customers' | 'loginTokens' | null
  readonly method: string
  readonly args: readonly unknown[]
}

/** The result of a call, or its error. */
export interface DatabaseReply {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly message: string; readonly isUnavailable: boolean }
}

type Methods = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>

/**
 * Serves the database to the process that forked this one, for `startDatabaseProcesses`. It opens the database of each
 * call's settings in turn, and ends with the other process.
 */
export function runDatabaseProcess(database: Database): void {
  let current: { readonly key: string; readonly open: Promise<OpenDatabase> } | null = null

  process.on('message', async (call: DatabaseCall) => {
    const reply = await run(call).then(
      (result) => ({ result }),
      (error: Error) => ({
        error: { message: error.message, isUnavailable: error instanceof Unavailable },
      }),
    )
    process.send?.({ id: call.id, ...reply } satisfies DatabaseReply)
  })
  process.on('disconnect', () => void close())

  async function run({ env, store, method, args }: DatabaseCall): Promise<unknown> {
    if (method === 'close') return close()
    if (store === null) return database.migrate(databaseContext(env))
    const key = JSON.stringify(env)
    if (current?.key !== key) {
      const closing = close()
      current = { key, open: closing.then(() => database.open('service', databaseContext(env))) }
    }
    const methods = (await current.open)[store] as unknown as Methods
    return methods[method]?.(...args)
  }

  async function close(): Promise<void> {
    const closing = current
    current = null
    await (await closing?.open)?.close()
  }
}
