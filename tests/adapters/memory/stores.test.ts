import { memoryCustomers } from '../../../src/adapters/memory/customers.ts'
import { memoryLoginTokens } from '../../../src/adapters/memory/login-tokens.ts'
import { memoryOneTimeTokens } from '../../../src/adapters/memory/one-time-tokens.ts'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { customersContract } from '../../../src/testing/contracts/customers.ts'
import { loginTokensContract } from '../../../src/testing/contracts/login-tokens.ts'
import { oneTimeTokensContract } from '../../../src/testing/contracts/one-time-tokens.ts'
import type { OneTimeStores } from '../../../src/testing/stores.ts'

customersContract('the memory', create)
loginTokensContract('the memory', create)
oneTimeTokensContract('the memory', create)

async function create(): Promise<OneTimeStores> {
  const store = memoryStore()
  return {
    customers: memoryCustomers(store),
    loginTokens: memoryLoginTokens(store),
    oneTimeTokens: memoryOneTimeTokens(store),
    dispose: async () => {},
  }
}
