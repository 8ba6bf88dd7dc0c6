import { after, before } from 'node:test'
import { customersContract } from '../../../src/testing/contracts/customers.ts'
import { loginTokensContract } from '../../../src/testing/contracts/login-tokens.ts'
import { oneTimeTokensContract } from '../../../src/testing/contracts/one-time-tokens.ts'
import { openPostgresStores, type PostgresStores } from '../../support/postgres-stores.ts'

let stores: PostgresStores
before(async () => {
  stores = await openPostgresStores({ stallable: true })
})
after(() => stores.close())

customersContract('PostgreSQL', () => stores.fresh())
loginTokensContract('PostgreSQL', () => stores.fresh())
oneTimeTokensContract('PostgreSQL', () => stores.fresh())
