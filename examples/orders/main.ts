import { postgresDatabase, runProgram } from 'latchkey'
import { randomIds } from 'latchkey/adapters/node-crypto'
import { systemClock } from 'latchkey/adapters/system-clock'
import { ORDERS_MIGRATIONS, ordersDatabase, settingsProblem } from './src/adapters/database.ts'
import { postgresOrders } from './src/adapters/postgres-orders.ts'
import { orderRoutes } from './src/routes.ts'

const problem = settingsProblem()
if (problem === null) {
  const database = ordersDatabase()
  await runProgram({
    version: '1.0.0',
    database: postgresDatabase({ migrations: [ORDERS_MIGRATIONS] }),
    routes: () =>
      orderRoutes({ orders: postgresOrders(database.pool()), clock: systemClock, ids: randomIds }),
  })
  // The service has sent its last response.
  await database.close()
} else {
  // Without DATABASE_URL, the service would start an embedded database, which has no orders.
  process.stderr.write(`orders: ${problem}\n`)
  process.exitCode = 1
}
