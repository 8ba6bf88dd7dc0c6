import { memoryLoginThrottle } from '../../../src/adapters/memory/login-throttle.ts'
import { loginThrottleContract } from '../../../src/testing/contracts/login-throttle.ts'
import { movableClock } from '../../../src/testing/movable-clock.ts'

loginThrottleContract('the memory', async (limits) => {
  const clock = movableClock()
  return { throttle: memoryLoginThrottle(limits, clock), advance: async (ms) => clock.advance(ms) }
})
