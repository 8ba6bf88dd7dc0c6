import { setImmediate } from 'node:timers/promises'
import {
  memoryCustomers,
  memoryLoginThrottle,
  memoryLoginTokens,
  memoryStore,
} from 'latchkey/adapters/memory'
import { customersContract, loginThrottleContract, loginTokensContract, movableClock } from 'latchkey/testing'

/** Declares the suites of adapters in memory with the functions of a runner. The last adapter has a fault. */
export function declareSuites(runner) {
  customersContract('memory', async () => storesOn(memoryStore()), runner)
  loginTokensContract('memory', async () => storesOn(memoryStore()), runner)
  loginThrottleContract('memory', createThrottle, runner)
  loginTokensContract('unlocked memory', async () => unlockedOn(memoryStore()), runner)
}

async function createThrottle(limits) {
  const clock = movableClock()
  return { throttle: memoryLoginThrottle(limits, clock), advance: async (ms) => clock.advance(ms) }
}

function storesOn(store) {
  return {
    customers: memoryCustomers(store),
    loginTokens: memoryLoginTokens(store),
    dispose: async () => {},
  }
}

/** Returns stores that revoke the earlier login and then store the new one, without a lock around both. */
function unlockedOn(store) {
  const stores = storesOn(store)
  const { loginTokens } = stores
  return {
    ...stores,
    loginTokens: {
      ...loginTokens,
      async replace({ token, digest, verifiedHash }, timeoutMs) {
        if (store.tokens.has(digest)) throw new Error('A token with this digest exists.')
        const owner = store.customers.get(token.customerId)
        if (owner?.passwordHash !== verifiedHash) return null
        const { customerId, name, createdAtMs } = token
        const revoked = await loginTokens.revokeByCustomer(customerId, { name }, createdAtMs, timeoutMs)
        await setImmediate()
        return (await loginTokens.add(token, digest, timeoutMs)) ? revoked : null
      },
    },
  }
}
