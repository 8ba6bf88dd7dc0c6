import { sqliteCustomers } from '../src/customers.ts'
import { openDatabase } from '../src/database.ts'
import { sqliteLoginTokens } from '../src/login-tokens.ts'
import { migrate } from '../src/migrations.ts'

/** A call of a store, on a file. */
export interface Call {
  readonly id: number
  readonly file: string
  readonly store: 'customers' | 'loginTokens'
  readonly method: string
  readonly values: readonly unknown[]
}

/** The result of a call, or its error. */
export interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

type Methods = Readonly<Record<string, (...values: readonly unknown[]) => Promise<unknown>>>

let open: {
  readonly file: string
  readonly stores: Promise<Readonly<Record<Call['store'], Methods>>>
} | null = null
let close = () => {}

process.on('message', ({ id, ...call }: Call) => {
  const send = (reply: Omit<Reply, 'id'>) => process.send?.({ id, ...reply } satisfies Reply)
  runCall(call).then(
    (result) => send({ result }),
    (error: Error) => send({ error: error.message }),
  )
})

async function runCall({ file, store, method, values }: Omit<Call, 'id'>): Promise<unknown> {
  if (open?.file !== file) {
    close()
    open = { file, stores: openStores(file) }
  }
  return (await open.stores)[store][method]?.(...values)
}

async function openStores(file: string): Promise<Readonly<Record<Call['store'], Methods>>> {
  const database = openDatabase(file)
  close = database.close
  await migrate(database)
  const stores = { customers: sqliteCustomers(database), loginTokens: sqliteLoginTokens(database) }
  return stores as unknown as Readonly<Record<Call['store'], Methods>>
}
