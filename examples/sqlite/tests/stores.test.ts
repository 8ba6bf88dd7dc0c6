import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { customersContract, loginTokensContract, type Stores } from 'latchkey/testing'
import { sqliteCustomers } from '../src/customers.ts'
import { openDatabase } from '../src/database.ts'
import { sqliteLoginTokens } from '../src/login-tokens.ts'
import { migrate } from '../src/migrations.ts'
import { severalProcesses } from './several-processes.ts'

async function inOneProcess(): Promise<Stores> {
  const { file, remove } = newFile()
  const database = openDatabase(file)
  await migrate(database)
  return {
    customers: sqliteCustomers(database),
    loginTokens: sqliteLoginTokens(database),
    async dispose() {
      database.close()
      remove()
    },
  }
}

const processes = severalProcesses(3)
after(() => processes.end())

async function inSeveral(): Promise<Stores> {
  const { file, remove } = newFile()
  return { ...processes.on(file), dispose: async () => remove() }
}

function newFile(): { readonly file: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-sqlite-'))
  return { file: join(folder, 'test.sqlite'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}

for (const [name, create] of [
  ['SQLite', inOneProcess],
  ['SQLite, through three processes', inSeveral],
] as const) {
  customersContract(name, create)
  loginTokensContract(name, create)
}
