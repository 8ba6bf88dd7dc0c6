import { once } from 'node:events'
import type { Database } from 'latchkey'
import { createRedisClient, redisLoginThrottle } from './login-throttle.ts'

/** Returns the same database, but its services count failed logins in the Redis of `url`. */
export function withRedisThrottle(database: Database, url: string): Database {
  return { ...database, open }

  async function open(...[role, context]: Parameters<Database['open']>) {
    if (role !== 'service') return database.open(role, context)
    const client = createRedisClient(url)
    const opened = await database.open(role, context)
    // A service starts without Redis, too: meanwhile its logins return 503.
    await Promise.race([client.connect(), once(client, 'error')])
    const throttle = redisLoginThrottle(client, context.configuration)
    const close = () => Promise.all([client.destroy(), opened.close()]).then(() => {})
    return { ...opened, throttle, close }
  }
}
