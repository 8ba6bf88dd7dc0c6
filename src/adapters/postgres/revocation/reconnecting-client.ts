import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { failureReason } from '../connection/direct-client.ts'
import { driverUrl } from '../connection/driver-url.ts'
import { ImmediateCloseClient } from '../connection/immediate-close-client.ts'

/** A connection that is made again whenever it is lost, until it is closed. */
export interface ReconnectingClient {
  /** Ends the connection that there is, if any; another one follows. */
  renew(reason: string): void
  /** Ends it for good. */
  close(): Promise<void>
}

const CONNECT_MS = 2000
const QUERY_MS = 1000
const SHORTEST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2000
/** A connection that lasted for less did not prove that the next one will. */
const PROVEN_MS = 10_000

/**
 * Keeps a connection of its own to a database. `prepare` readies each new one; `onUp` follows when it is ready, and
 * `onDown` when it is lost or was not to be had. The pause between two attempts grows, and is by chance a little
 * longer or shorter, so that instances that lost a server together do not come back all at once.
 */
export function createReconnectingClient({
  url,
  name,
  prepare,
  onUp,
  onDown,
}: {
  readonly url: string
  /** Shown by the server beside the connection. */
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
      lose(new Error('It is closed.'))
      await ended
    },
  }

  async function keepConnected(): Promise<void> {
    let failures = 0
    while (!closing.signal.aborted) {
      const beganMs = performance.now()
      onDown(await endOfOne())
      failures = performance.now() - beganMs < PROVEN_MS ? failures + 1 : 0
      const pauseMs =
        Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** failures) * (0.5 + Math.random() / 2)
      await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => {})
    }
  }

  async function endOfOne(): Promise<string> {
    const client = new ImmediateCloseClient({
      connectionString: driverUrl(url),
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
    const ready = client.connect().then(() => prepare(client))
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
