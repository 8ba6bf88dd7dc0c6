import type { Client } from 'pg'
import { withDirectClient } from './direct-client.ts'

/** A server with a session for each connection responds sooner, unless it is overloaded. */
const SESSION_MS = 5000

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
      if ((await backendPid(other)) === own) return true
      // A pooler whose sessions are all in transactions lets it wait.
      const again = await backendPid(one, Math.min(SESSION_MS, queryMs ?? SESSION_MS)).catch(nullAfterTimeout)
      return again !== own
    }),
  )
}

async function backendPid(client: Client, query_timeout?: number): Promise<number> {
  const query = { text: 'select pg_backend_pid() as pid', ...(query_timeout && { query_timeout }) }
  return (await client.query(query)).rows[0].pid
}

function nullAfterTimeout(error: Error): null {
  if (error.message === 'Query read timeout') return null
  throw error
}
