import type { QueryConfig } from 'pg'
import type { Clock } from '../../../lib/clock.ts'
import { LEASE_MS } from './lease.ts'
import { PUBLIC_CHANNEL } from './notifications.ts'
import { createReconnectingClient } from './reconnecting-client.ts'

/** The connection that receives notifications. It is reopened whenever it is lost. */
export interface Listener {
  /** Replaces the connection if it has been silent for too long. Called at least as often as heartbeats are sent. */
  checkSilence(): void
  /** Closes the connection for good. */
  close(): Promise<void>
}

/** A connection that does not receive this process's own messages for this duration is replaced. */
const MAX_SILENCE_MS = 2 * LEASE_MS
/** A server whose queue of notifications is long needs seconds for LISTEN. */
const LISTEN_TIMEOUT_MS = 120_000

/** Opens the listener connection. `url` must not be that of a transaction pooler, which loses notifications. */
export function createListener({
  instance,
  url,
  clock,
  onUp,
  onNotification,
  onPublicNotification,
  onDown,
}: {
  /** The name of the instance, a UUID after `@`. */
  readonly instance: string
  readonly url: string
  readonly clock: Clock
  /** Called when the connection listens, before it receives a notification. */
  readonly onUp: () => void
  readonly onNotification: (payload: string) => void
  /** Called with a notification on the channel of the earlier version. */
  readonly onPublicNotification: (payload: string) => void
  readonly onDown: (reason: string) => void
}): Listener {
  let receivedMs = Infinity
  const connection = createReconnectingClient({
    url,
    name: 'latchkey listener',
    prepare: (client) => client.query(listenAs(instance)),
    onUp(client) {
      receivedMs = clock.monotonicMs()
      client.on('notification', ({ channel, payload = '' }) => {
        if (channel === PUBLIC_CHANNEL) return onPublicNotification(payload)
        // Not on the public channel: while others send there, this process's own messages may be lost.
        receivedMs = clock.monotonicMs()
        onNotification(payload)
      })
      onUp()
    },
    onDown(reason) {
      receivedMs = Infinity
      onDown(reason)
    },
  })

  return {
    checkSilence() {
      if (clock.monotonicMs() - receivedMs > MAX_SILENCE_MS)
        connection.renew('The listener connection to the database receives nothing.')
    },
    close: () => connection.close(),
  }
}

// One statement, and so one transaction. The type of the driver lacks the timeout of one query.
function listenAs(instance: string): QueryConfig & { readonly query_timeout: number } {
  return {
    text: `select latchkey_listen_as('${instance}'); listen ${PUBLIC_CHANNEL}`,
    query_timeout: LISTEN_TIMEOUT_MS,
  }
}
