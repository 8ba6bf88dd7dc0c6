import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import {
  customersContract,
  databaseContract,
  loginTokensContract,
  type OneTimeStores,
  oneTimeTokensContract,
  startDatabaseProcesses,
} from 'latchkey/testing'
import Database from 'libsql'
import { sqliteCustomers } from '../src/customers.ts'
import { openDatabase } from '../src/database.ts'
import { sqliteLoginTokens } from '../src/login-tokens.ts'
import { migrate } from '../src/migrations.ts'
import { sqliteOneTimeTokens } from '../src/one-time-tokens.ts'
import { sqliteDatabase } from '../src/service-database.ts'

const PROGRAM = join(import.meta.dirname, 'database-process.ts')

const forkProgram = () => fork(PROGRAM, { execArgv: ['--import', 'tsx'] })
const processes = startDatabaseProcesses(3, forkProgram)
after(() => processes.end())

async function inOneProcess(): Promise<OneTimeStores> {
  const { file, remove } = newFolder()
  const database = openDatabase(file)
  await migrate(database)
  return {
    customers: sqliteCustomers(database),
    loginTokens: sqliteLoginTokens(database),
    oneTimeTokens: sqliteOneTimeTokens(database),
    lockToken: () => lockFile(file),
    async dispose() {
      database.close()
      remove()
    },
  }
}

async function inSeveral(): Promise<OneTimeStores> {
  const { file, env, remove } = newFolder()
  return {
    ...processes.stores(env),
    lockToken: () => lockFile(file),
    async dispose() {
      await processes.close()
      remove()
    },
  }
}

for (const [name, create] of [
  ['SQLite', inOneProcess],
  ['SQLite, through three processes', inSeveral],
] as const) {
  customersContract(name, create)
  loginTokensContract(name, create)
  oneTimeTokensContract(name, create)
}

databaseContract('SQLite', async () => {
  const { env, remove } = newFolder()
  return { database: sqliteDatabase, env, fork: forkProgram, dispose: async () => remove() }
})

/** Locks the whole file, as the transaction of another process does. */
async function lockFile(file: string): Promise<() => Promise<void>> {
  const connection = new Database(file)
  connection.exec('begin immediate')
  return async () => void connection.close()
}

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-sqlite-'))
  return {
    file: join(folder, 'latchkey.sqlite'),
    env: { DATA_DIR: folder },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
