import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { withDirectClient } from '../connection/direct-client.ts'

/** Not that of the invalidations: no instance is to hear it. */
const CHANNEL = 'latchkey_doctor'
const HEARD_MS = 2000

/** After how many milliseconds what is notified by one address is heard at the other; null for never. */
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
    async (link) => {
      const word = randomUUID()
      const heard = new Promise<number>((resolve) => {
        link.on('notification', ({ payload }) => {
          if (payload === word) resolve(performance.now())
        })
      })
      await link.query(`listen ${CHANNEL}`)
      return withDirectClient(
        url,
        async (voice) => {
          const saidMs = performance.now()
          await voice.query('select pg_notify($1, $2)', [CHANNEL, word])
          const heardMs = await Promise.race([heard, sleep(HEARD_MS, null, { ref: false })])
          return heardMs === null ? null : Math.round(heardMs - saidMs)
        },
        queryMs,
      )
    },
    queryMs,
  )
}
