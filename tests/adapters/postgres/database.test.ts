import { fork } from 'node:child_process'
import { join } from 'node:path'
import { postgresDatabase } from '../../../src/composition/postgres-database.ts'
import { databaseContract } from '../../../src/testing/contracts/database.ts'
import { createTestDatabase } from '../../support/database.ts'
import { openTcpProxy } from '../../support/tcp-proxy.ts'

const PROGRAM = join(import.meta.dirname, 'fixtures/database-process.ts')

databaseContract('PostgreSQL', async () => {
  const database = await createTestDatabase({ migrated: false })
  const proxy = await openTcpProxy(database.url)
  return {
    database: postgresDatabase(),
    env: { DATABASE_URL: proxy.url },
    async stall() {
      proxy.freeze()
      return async () => proxy.thaw()
    },
    fork: () => fork(PROGRAM, { execArgv: ['--import', 'tsx'] }),
    async dispose() {
      await proxy.close()
      await database.drop()
    },
  }
})
