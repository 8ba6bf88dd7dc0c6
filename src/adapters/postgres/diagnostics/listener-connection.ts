import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CheckResult, checkFailed, checkPassed } from '../../../lib/check-result.ts'
import { withDirectClient } from '../connection/direct-client.ts'
import { isTransactionPooler } from '../connection/transaction-pooler.ts'

/** Not the channel of the invalidations: no instance listens to it. */
const CHANNEL = 'latchkey_doctor'
const RECEIVE_TIMEOUT_MS = 2000

/** Checks that notifications sent through `url` arrive on the listener connection, which uses `directUrl`. */
export async function checkListenerConnection({
  url,
  directUrl,
  isPooled,
  queryMs,
}: {
  readonly url: string
  readonly directUrl: string
  /** Whether `url` leads through a transaction pooler. */
  readonly isPooled: boolean
  readonly queryMs: number
}): Promise<CheckResult> {
  const isDirectPooled = directUrl === url ? isPooled : await isTransactionPooler(directUrl, queryMs)
  const facts = { pooler: isPooled }
  if (isDirectPooled)
    return checkFailed(
      'database.link',
      'failure',
      'The listener connection goes through a transaction pooler, which loses notifications: no validation is cached, and a logout takes a second.',
      'Set DATABASE_DIRECT_URL to the address of the server itself.',
      facts,
    )
  const lagMs = await receivesNotifications({ url, directUrl, queryMs })
  if (lagMs === null)
    return checkFailed(
      'database.link',
      'failure',
      'A notification through DATABASE_URL is not received on the listener connection: no validation is cached, and a logout takes a second.',
      'Set DATABASE_URL and DATABASE_DIRECT_URL to the same database.',
      facts,
    )
  const way = isPooled ? ' through the transaction pooler' : ''
  return checkPassed(
    'database.link',
    `A notification${way} is received on the listener connection after ${lagMs} ms.`,
    {
      ...facts,
      heard_ms: lagMs,
    },
  )
}

/**
 * Notifies through `url` and listens through `directUrl`. Returns the delay in milliseconds, or null when no notification
 * arrives within two seconds.
 */
function receivesNotifications({
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
