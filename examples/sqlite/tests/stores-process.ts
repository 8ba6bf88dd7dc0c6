import { sqliteCustomers } from '../src/customers.ts'
import { openDatabase } from '../src/database.ts'
import { sqliteLoginTokens } from '../src/login-tokens.ts'
import { migrate } from '../src/migrations.ts'

/** What a process is asked to do: a call of a store on the file that it has open. */
export interface Asked {
  readonly id: number
  readonly file: string
  readonly store: 'customers' | 'loginTokens'
  readonly method: string
  readonly values: readonly unknown[]
}

/** The answer, or why there is none. */
export interface Told {
  readonly id: number
  readonly answer?: unknown
  readonly error?: string
}

type Methods = Readonly<Record<string, (...values: readonly unknown[]) => Promise<unknown>>>

let open: {
  readonly file: string
  readonly stores: Promise<Readonly<Record<Asked['store'], Methods>>>
} | null = null
let close = () => {}

process.on('message', ({ id, ...asked }: Asked) => {
  const tell = (told: Omit<Told, 'id'>) => process.send?.({ id, ...told } satisfies Told)
  answerOf(asked).then(
    (answer) => tell({ answer }),
    (error: Error) => tell({ error: error.message }),
  )
})

async function answerOf({ file, store, method, values }: Omit<Asked, 'id'>): Promise<unknown> {
  if (open?.file !== file) {
    close()
    open = { file, stores: storesOn(file) }
  }
  return (await open.stores)[store][method]?.(...values)
}

async function storesOn(file: string): Promise<Readonly<Record<Asked['store'], Methods>>> {
  const database = openDatabase(file)
  close = database.close
  await migrate(database)
  const stores = { customers: sqliteCustomers(database), loginTokens: sqliteLoginTokens(database) }
  return stores as unknown as Readonly<Record<Asked['store'], Methods>>
}
