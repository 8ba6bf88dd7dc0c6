import type { Clock } from '../../../lib/clock.ts'

/** For how long after its sending a heartbeat that came back lets kept validations be used, in milliseconds. */
export const LEASE_MS = 1000

/** What the clocks of two machines may differ in rate over one lease, with plenty to spare. */
const MARGIN_MS = 50

/** A moment by both clocks. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

/** The right to use what is kept: all that was committed `LEASE_MS` ago or earlier has been obeyed here. */
export interface Lease {
  /** Lasts from the sending of the heartbeat, not from its return. */
  grant(sentAt: Moment): void
  end(): void
  holds(): boolean
}

/** A lease that is compared with the clocks each time it is asked: a process that was paused finds it ended. */
export function createLease(clock: Clock): Lease {
  let sentAt: Moment | null = null
  return {
    grant(moment) {
      sentAt = moment
    },
    end() {
      sentAt = null
    },
    holds() {
      if (sentAt === null) return false
      if (clock.monotonicMs() - sentAt.monotonicMs >= LEASE_MS - MARGIN_MS) return false
      // The monotonic clock stands still while a machine sleeps; the wall clock does not, but it may be set.
      const byTheWallMs = clock.nowMs() - sentAt.wallMs
      return byTheWallMs >= 0 && byTheWallMs < LEASE_MS - MARGIN_MS
    },
  }
}

/** Now, by both clocks. */
export function currentMoment(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() }
}
