import { createRedisClient, redisLoginThrottle } from '../src/login-throttle.ts'
import { ATTEMPT, LIMITS, TIMEOUT_MS } from './limits.ts'

// Takes slots in parallel once the parent says so, and reports how many it got.
const client = createRedisClient(process.argv[2] ?? '')
await client.connect()
const { take } = redisLoginThrottle(client, LIMITS)
process.once('message', async () => {
  const admissions = await Promise.all(Array.from({ length: 70 }, () => take(ATTEMPT, TIMEOUT_MS)))
  process.send?.(admissions.filter(({ kind }) => kind === 'taken').length)
  await client.close()
  process.disconnect()
})
process.send?.('connected')
