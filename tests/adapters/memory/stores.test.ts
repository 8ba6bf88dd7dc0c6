import { memoryCustomers } from '../../../src/adapters/memory/customers.ts'
import { memoryLoginTokens } from '../../../src/adapters/memory/login-tokens.ts'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { customersContract } from '../../../src/testing/contracts/customers.ts'
import { loginTokensContract } from '../../../src/testing/contracts/login-tokens.ts'
import type { Stores } from '../../../src/testing/stores.ts'

customersContract('the memory', create)
loginTokensContract('the memory', create)

async function create(): Promise<Stores> {
  const store = memoryStore()
  return { customers: memoryCustomers(store), loginTokens: memoryLoginTokens(store), dispose: async () => {} }
}
