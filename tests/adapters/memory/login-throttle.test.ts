import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { memoryLoginThrottle } from '../../../src/adapters/memory/login-throttle.ts'
import { loginThrottleContract } from '../../../src/testing/contracts/login-throttle.ts'
import { movableClock } from '../../../src/testing/movable-clock.ts'

loginThrottleContract('the memory', async (limits) => {
  const clock = movableClock()
  return { throttle: memoryLoginThrottle(limits, clock), advance: async (ms) => clock.advance(ms) }
})

it('The throttle in memory stores a bounded number of accounts whose failures were forgotten', async () => {
  const throttle = memoryLoginThrottle({ loginLimitAccount: null, loginLimitAddress: null }, movableClock())
  const forget = async (count: number) => {
    for (let n = 0; n < count; n++) await throttle.forget(`${randomUUID()}@example.com`, 1000)
    return usedBytes()
  }
  const before = await forget(60_000)
  const grown = (await forget(60_000)) - before
  assert.ok(grown < 3_000_000, `${grown} bytes`)
})

function usedBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}
