import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { failureReason } from '../connection/direct-client.ts'
import { ImmediateCloseClient } from '../connection/immediate-close-client.ts'
import { prepareClient } from '../connection/session-settings.ts'

/** A connection that is reopened whenever it is lost, until `close`. */
export interface ReconnectingClient {
  /** Closes the current connection, if any; a new one is opened. */
  renew(reason: string): void
  /** Closes the connection for good. */
  close(): Promise<void>
}

const CONNECT_MS = 2000
const QUERY_MS = 1000
const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 2000
/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 10_000

/**
 * Maintains a separate connection to a database. Calls `prepare` on each new connection, `onUp` when it is ready, and
 * `onDown` when it is lost or cannot be opened. The pause between two attempts grows exponentially with jitter, so that
 * instances that lost a server together do not reconnect at once.
 */
export function createReconnectingClient({
  url,
  name,
  prepare,
  onUp,
  onDown,
}: {
  readonly url: string
  /** The `application_name` of the connection on the server. */
  readonly name: string
  readonly prepare: (client: Client) => Promise<unknown>
  readonly onUp: (client: Client) => void
  readonly onDown: (reason: string) => void
}): ReconnectingClient {
  const closing = new AbortController()
  let lose = (_: Error) => {}
  const ended = keepConnected()

  return {
    renew: (reason) => lose(new Error(reason)),
    async close() {
      closing.abort()
      lose(new Error('The connection was closed.'))
      await ended
    },
  }

  async function keepConnected(): Promise<void> {
    let failures = 0
    while (!closing.signal.aborted) {
      const beganMs = performance.now()
      onDown(await runConnection())
      failures = performance.now() - beganMs < STABLE_MS ? failures + 1 : 0
      const pauseMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** failures) * (0.5 + Math.random() / 2)
      await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => {})
    }
  }

  async function runConnection(): Promise<string> {
    const client = new ImmediateCloseClient({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
      keepAlive: true,
      application_name: name,
    })
    const lost = new Promise<never>((_, reject) => {
      lose = reject
      client.on('error', reject)
      client.on('end', () => reject(new Error('The server closed the connection.')))
    })
    const ready = client
      .connect()
      .then(() => prepareClient(client))
      .then(() => prepare(client))
    try {
      await Promise.race([ready, lost])
      onUp(client)
      return await lost
    } catch (error) {
      return `${failureReason(error)}.`
    } finally {
      void client.end().catch(() => {})
    }
  }
}
