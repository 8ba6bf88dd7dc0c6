import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { withDirectClient } from '../connection/direct-client.ts'

/** Not the channel of the invalidations: no instance listens to it. */
const CHANNEL = 'latchkey_doctor'
const RECEIVE_TIMEOUT_MS = 2000

/**
 * Notifies through `url` and listens through `directUrl`. Returns the delay in milliseconds, or null when no notification
 * arrives within two seconds.
 */
export function receivesNotifications({
  url,
  directUrl,
  queryMs,
}: {
  readonly url: string
  readonly directUrl: string
  readonly queryMs: number
}): Promise<number | null> {
  return withDirectClient(
    directUrl,
    async (listener) => {
      const sentPayload = randomUUID()
      const received = new Promise<number>((resolve) => {
        listener.on('notification', ({ payload }) => {
          if (payload === sentPayload) resolve(performance.now())
        })
      })
      await listener.query(`listen ${CHANNEL}`)
      return withDirectClient(
        url,
        async (publisher) => {
          const sentMs = performance.now()
          await publisher.query('select pg_notify($1, $2)', [CHANNEL, sentPayload])
          const receivedMs = await Promise.race([received, sleep(RECEIVE_TIMEOUT_MS, null, { ref: false })])
          return receivedMs === null ? null : Math.round(receivedMs - sentMs)
        },
        queryMs,
      )
    },
    queryMs,
  )
}
