import type { Client } from 'pg'
import { DatabaseUnreachable } from './database-refused.ts'
import { isOfTls } from './driver-url.ts'
import { ImmediateCloseClient } from './immediate-close-client.ts'
import { prepareClient } from './session-settings.ts'

const CONNECT_MS = 5000

/**
 * Opens a connection outside the pool with the `search_path` of Latchkey's schema, runs `work` with it and closes it.
 * Returns the result of `work`. Throws `DatabaseUnreachable` when it cannot connect within five seconds, and
 * `DatabaseRefused` when several schemas contain Latchkey's tables. A query times out after `queryMs` milliseconds;
 * without it, never.
 */
export async function withDirectClient<T>(
  url: string,
  work: (client: Client) => Promise<T>,
  queryMs?: number,
): Promise<T> {
  const client = new ImmediateCloseClient({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    ...(queryMs === undefined ? {} : { query_timeout: queryMs }),
    application_name: 'latchkey',
  })
  // The running query rejects too. Without a listener the error would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    throw new DatabaseUnreachable(
      `The database at ${client.host}:${client.port} cannot be reached: ${failureReason(error)}.${tlsHint(error)}`,
      { cause: error },
    )
  }
  try {
    await prepareClient(client)
    return await work(client)
  } finally {
    await client.end()
  }
}

function tlsHint(error: unknown): string {
  return isOfTls(error) ? ' Check sslmode in DATABASE_URL; docs/reference/settings.md lists its values.' : ''
}

/** Returns why a connection failed, in one line. A failure at several addresses has an empty message and a code. */
export function failureReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : error.name
  return (error.message || code).replaceAll(/\s+/g, ' ').replace(/\.$/, '')
}
