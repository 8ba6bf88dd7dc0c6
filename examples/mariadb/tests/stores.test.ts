import { fork } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import {
  customersContract,
  type DatabaseProcesses,
  databaseContract,
  loginTokensContract,
  type OneTimeStores,
  oneTimeTokensContract,
  startDatabaseProcesses,
} from 'latchkey/testing'
import { mariadbCustomers } from '../src/customers.ts'
import { type MariadbDatabase, openDatabase } from '../src/database.ts'
import { mariadbLoginTokens } from '../src/login-tokens.ts'
import { migrate } from '../src/migrations.ts'
import { mariadbOneTimeTokens } from '../src/one-time-tokens.ts'
import { mariadbDatabase } from '../src/service-database.ts'
import { type MariadbServer, startMariadb, withoutMariadb } from './mariadb-server.ts'

const PROGRAM = join(import.meta.dirname, 'database-process.ts')
const forkOn = (url: string) =>
  fork(PROGRAM, { execArgv: ['--import', 'tsx'], env: { ...process.env, MARIADB_URL: url } })

describe('MariaDB', { skip: withoutMariadb }, () => {
  let server: MariadbServer
  let database: MariadbDatabase
  let processes: DatabaseProcesses
  before(async () => {
    server = await startMariadb()
    const url = await server.createDatabase('stores')
    database = openDatabase(url)
    await migrate(database)
    processes = startDatabaseProcesses(3, () => forkOn(url))
  })
  after(async () => {
    await processes?.end()
    await database?.close()
    await server?.stop()
  })

  async function inOneProcess(): Promise<OneTimeStores> {
    await server.connection.query('delete from stores.customers')
    return {
      customers: mariadbCustomers(database),
      loginTokens: mariadbLoginTokens(database),
      oneTimeTokens: mariadbOneTimeTokens(database),
      stall: server.stall,
      lockToken: (id) => server.lockToken('stores', id),
      dispose: async () => {},
    }
  }

  async function inSeveral(): Promise<OneTimeStores> {
    return { ...(await inOneProcess()), ...processes.stores({}) }
  }

  for (const [name, create] of [
    ['MariaDB', inOneProcess],
    ['MariaDB, through three processes', inSeveral],
  ] as const) {
    customersContract(name, create)
    loginTokensContract(name, create)
    oneTimeTokensContract(name, create)
  }

  let databases = 0
  databaseContract('MariaDB', async () => {
    const url = await server.createDatabase(`database_${databases++}`)
    return {
      database: mariadbDatabase(url),
      env: {},
      caches: false,
      stall: server.stall,
      fork: () => forkOn(url),
      dispose: async () => {},
    }
  })
})
