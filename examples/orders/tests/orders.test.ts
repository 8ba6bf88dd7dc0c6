import { after, before, describe, test } from 'node:test'
import { type DatabasePool, migrate, openPool } from 'latchkey/adapters/postgres'
import { ORDERS_MIGRATIONS } from '../src/adapters/database.ts'
import { memoryOrders } from '../src/adapters/memory-orders.ts'
import { postgresOrders } from '../src/adapters/postgres-orders.ts'
import { ordersContract } from './contract.ts'

ordersContract('memory', memoryOrders)

const url = process.env.TEST_DATABASE_URL
if (url === undefined) {
  test('postgres', { skip: 'TEST_DATABASE_URL is unset: orders were NOT TESTED ON POSTGRESQL' })
} else {
  describe('On PostgreSQL:', () => {
    let pool: DatabasePool
    before(async () => {
      await migrate({ url, set: ORDERS_MIGRATIONS })
      pool = openPool({ url, max: 5, prepared: true, onEvent() {} })
    })
    after(() => pool.close())

    ordersContract('postgres', () => postgresOrders(pool))
  })
}
