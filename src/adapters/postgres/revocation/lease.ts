import type { ProcessLease } from '../../../application/ports/invalidations.ts'
import type { Clock } from '../../../lib/clock.ts'

/** How long after it was sent a returned heartbeat allows cached validations to be used, in milliseconds. */
export const LEASE_MS = 1000

/**
 * The lease is shorter by this than the time that others wait for its end. For clocks whose rates differ from real time by
 * at most r, it must be 2rL / (1 + r): 182 ms for 10 %, more than the 8.33 % by which chrony slews a clock.
 */
const MARGIN_MS = 200

/** A point in time by both clocks. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

/** The right to use cached validations: every change committed `LEASE_MS` ago or earlier has been applied here. */
export interface Lease {
  /** Starts the lease at the time when the heartbeat was sent, not when it returned. */
  grant(sentAt: Moment): void
  /** Ends the lease. */
  end(): void
  /** Whether the lease is valid now. */
  holds(): boolean
  /** Returns what remains of the lease, or null when it is not valid now. */
  left(): ProcessLease | null
}

/** Creates a lease. It reads the clocks on each call of `holds`, so that a process finds it expired after a pause. */
export function createLease(clock: Clock): Lease {
  let sentAt: Moment | null = null
  return {
    grant(moment) {
      sentAt = moment
    },
    end() {
      sentAt = null
    },
    holds,
    left() {
      if (sentAt === null || !holds()) return null
      const elapsedMs = Math.max(clock.monotonicMs() - sentAt.monotonicMs, clock.nowMs() - sentAt.wallMs)
      return { leftMs: LEASE_MS - MARGIN_MS - elapsedMs, endMs: sentAt.monotonicMs + LEASE_MS }
    },
  }

  function holds(): boolean {
    if (sentAt === null) return false
    if (clock.monotonicMs() - sentAt.monotonicMs >= LEASE_MS - MARGIN_MS) return false
    // The monotonic clock stops while the machine sleeps. The wall clock does not, but it may be set.
    const wallElapsedMs = clock.nowMs() - sentAt.wallMs
    return wallElapsedMs >= 0 && wallElapsedMs < LEASE_MS - MARGIN_MS
  }
}

/** Returns the current time by both clocks. */
export function currentMoment(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() }
}
