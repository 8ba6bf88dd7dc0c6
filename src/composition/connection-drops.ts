import type { ServiceMetrics } from '../adapters/prometheus/service-metrics.ts'
import type { Log } from '../application/ports/log.ts'
import type { DropReason } from '../application/ports/request-observers.ts'
import type { Clock } from '../lib/clock.ts'

/** After a line, later drops are counted for this time. */
const QUIET_MS = 60_000

/**
 * Returns a function that counts a dropped connection, and logs `connections.limit` while `MAX_CONNECTIONS` is reached: the
 * first drop at once, later ones as a number once a minute.
 */
export function connectionDrops({
  log,
  clock,
  metrics,
  max,
}: {
  readonly log: Log
  readonly clock: Clock
  readonly metrics: Pick<ServiceMetrics, 'dropped'>
  readonly max: number
}): (reason: DropReason) => void {
  let closed = 0
  let refused = 0
  let isQuiet = false

  return function dropped(reason) {
    metrics.dropped(reason)
    if (reason === 'stalled') return
    if (reason === 'idle') closed++
    else refused++
    if (!isQuiet) write()
  }

  function write(): void {
    isQuiet = closed + refused > 0
    if (!isQuiet) return
    log.warn('connections.limit', {
      detail: `MAX_CONNECTIONS=${max} is reached: ${closed} idle connections closed, ${refused} new ones refused.`,
    })
    closed = 0
    refused = 0
    clock.after(QUIET_MS, write)
  }
}
