import type { Database, OpenDatabase } from '../../application/ports/database.ts'
import type { NewLogin } from '../../application/ports/login-tokens.ts'
import { Unavailable } from '../../domain/errors.ts'
import type { Admission, HeldSession } from '../../domain/session.ts'
import { type DatabaseEnv, databaseContext } from './context.ts'

/** A call that another process sends: `migrate`, or a method of a store of the open database. */
export interface DatabaseCall {
  readonly id: number
  readonly env: DatabaseEnv
  readonly store: 'customers' | 'loginTokens' | 'oneTimeTokens' | null
  readonly method: string
  readonly args: readonly unknown[]
  /** In place of `admit` of a login, which cannot be sent to another process. */
  readonly decision?: SentDecision
}

/** What `admit` of a login decided, and for which sessions; null before the first decision. */
export type SentDecision = {
  readonly held: readonly HeldSession[]
  readonly admission: Admission | 'full'
} | null

/** A login was not stored: it needs a decision for these sessions. */
export class Undecided extends Error {
  readonly held: readonly HeldSession[]
  constructor(held: readonly HeldSession[]) {
    super('The customer holds other sessions than those of the decision.')
    this.held = held
  }
}

/** The result of a call, or its error. */
export interface DatabaseReply {
  readonly id: number
  readonly result?: unknown
  readonly error?: {
    readonly message: string
    readonly isUnavailable: boolean
    /** Of `Undecided`. */
    readonly held?: readonly HeldSession[]
  }
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
        error: {
          message: error.message,
          isUnavailable: error instanceof Unavailable,
          ...(error instanceof Undecided && { held: error.held }),
        },
      }),
    )
    process.send?.({ id: call.id, ...reply } satisfies DatabaseReply)
  })
  process.on('disconnect', () => void close())

  async function run({ env, store, method, args, decision }: DatabaseCall): Promise<unknown> {
    if (method === 'close') return close()
    if (store === null) return database.migrate(databaseContext(env))
    const key = JSON.stringify(env)
    if (current?.key !== key) {
      const closing = close()
      current = { key, open: closing.then(() => database.open('service', databaseContext(env))) }
    }
    const methods = (await current.open)[store] as unknown as Methods
    return methods[method]?.(...(decision === undefined ? args : withDecision(args, decision)))
  }

  async function close(): Promise<void> {
    const closing = current
    current = null
    await (await closing?.open)?.close()
  }
}

function withDecision([login, timeoutMs]: readonly unknown[], decision: SentDecision): readonly unknown[] {
  const admit: NewLogin['admit'] = (held) => {
    if (JSON.stringify(held) !== JSON.stringify(decision?.held)) throw new Undecided(held)
    return (decision as NonNullable<SentDecision>).admission
  }
  return [{ ...(login as NewLogin), admit }, timeoutMs]
}
