import type { Client } from 'pg'
import { withDirectClient } from './direct-client.ts'

/**
 * Whether the address is that of a transaction pooler, which assigns any free session to each transaction, so that session
 * locks and LISTEN do not work. A query times out after `queryMs` milliseconds; without it, never.
 */
export function isTransactionPooler(url: string, queryMs?: number): Promise<boolean> {
  const connect = <T>(work: (client: Client) => Promise<T>) => withDirectClient(url, work, queryMs)
  return connect((one) =>
    connect(async (other) => {
      const own = await backendPid(one)
      await other.query('begin')
      const others = await backendPid(other)
      const again = await backendPid(one)
      await other.query('commit')
      return own === others || own !== again
    }),
  )
}

async function backendPid(client: Client): Promise<number> {
  return (await client.query('select pg_backend_pid() as pid')).rows[0].pid
}
