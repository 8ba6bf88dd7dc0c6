import type { Client } from 'pg'
import { DatabaseUnreachable } from './database-refused.ts'
import { driverUrl, isOfTls } from './driver-url.ts'
import { ImmediateCloseClient } from './immediate-close-client.ts'

const CONNECT_MS = 5000

/**
 * Lends a connection outside the pool, and ends it afterwards; throws `DatabaseUnreachable` in one line. A query waits
 * for `queryMs` milliseconds, without it for ever.
 */
export async function withDirectClient<T>(
  url: string,
  work: (client: Client) => Promise<T>,
  queryMs?: number,
): Promise<T> {
  const client = new ImmediateCloseClient({
    connectionString: driverUrl(url),
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    ...(queryMs === undefined ? {} : { query_timeout: queryMs }),
    application_name: 'latchkey',
  })
  // The query that was running rejects as well: the listener only keeps the process alive.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    throw new DatabaseUnreachable(
      `The database at ${client.host}:${client.port} cannot be reached: ${failureReason(error)}.${hintOf(error)}`,
      { cause: error },
    )
  }
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function hintOf(error: unknown): string {
  return isOfTls(error) ? ' Check sslmode in DATABASE_URL; the README tells what each value means.' : ''
}

/** Why a connection failed, in one line. An attempt at several addresses rejects with an empty message and a code. */
export function failureReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : error.name
  return (error.message || code).replaceAll(/\s+/g, ' ').replace(/\.$/, '')
}
