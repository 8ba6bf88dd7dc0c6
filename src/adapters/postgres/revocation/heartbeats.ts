import type { Clock } from '../../../lib/clock.ts'
import { currentMoment, type Moment } from './lease.ts'

/** The time between two heartbeats, in milliseconds. */
export const BEAT_MS = 250

/** More heartbeats than can be in flight within a lease. */
const REMEMBERED_BEATS = 8

/** The heartbeats of this instance that have not granted a lease yet. `n` is the number of a heartbeat. */
export interface Heartbeats {
  /** Records a heartbeat that is sent now, and returns its number. */
  record(): number
  /** Returns the time at which the heartbeat was sent; undefined if it is not in flight. */
  sentAt(n: number): Moment | undefined
  /** The heartbeat was received back, or its statement found the triggers unchanged. */
  confirm(n: number, what: 'hasReturned' | 'isVerified'): void
  /** Forgets the heartbeats in flight. */
  clear(): void
}

interface Heartbeat {
  readonly sentAt: Moment
  hasReturned: boolean
  isVerified: boolean
}

/** Creates heartbeats. Calls `onConfirmed` for each that has returned and is verified, with the time of its sending. */
export function createHeartbeats(clock: Clock, onConfirmed: (sentAt: Moment) => void): Heartbeats {
  const sent = new Map<number, Heartbeat>()
  let last = 0
  return {
    record() {
      last += 1
      sent.set(last, { sentAt: currentMoment(clock), hasReturned: false, isVerified: false })
      sent.delete(last - REMEMBERED_BEATS)
      return last
    },
    sentAt: (n) => sent.get(n)?.sentAt,
    confirm(n, what) {
      const heartbeat = sent.get(n)
      if (heartbeat === undefined) return
      heartbeat[what] = true
      if (!heartbeat.hasReturned || !heartbeat.isVerified) return
      // Earlier heartbeats that are still in flight prove less than this one.
      for (const earlier of [...sent.keys()]) if (earlier <= n) sent.delete(earlier)
      onConfirmed(heartbeat.sentAt)
    },
    clear: () => sent.clear(),
  }
}
