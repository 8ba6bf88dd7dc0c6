import type { Client } from 'pg'
import { withDirectClient } from './direct-client.ts'

/**
 * Whether a transaction pooler stands between an address and its server: one that lends each transaction whatever
 * session is free, so that a session's locks and its LISTEN belong to nobody.
 */
export function isTransactionPooler(url: string, queryMs?: number): Promise<boolean> {
  const lend = <T>(work: (client: Client) => Promise<T>) => withDirectClient(url, work, queryMs)
  return lend((one) =>
    lend(async (other) => {
      const own = await sessionOf(one)
      await other.query('begin')
      const others = await sessionOf(other)
      const again = await sessionOf(one)
      await other.query('commit')
      return own === others || own !== again
    }),
  )
}

async function sessionOf(client: Client): Promise<number> {
  return (await client.query('select pg_backend_pid() as pid')).rows[0].pid
}
