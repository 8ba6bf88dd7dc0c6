import { Unavailable } from '../../domain/errors.ts'

/** The longest that those who have a place may need in all, in milliseconds: nobody waits longer for a password. */
const LONGEST_QUEUE_MS = 2000
/** How much the newest place counts in the mean, and by how much more than the mean it may last: a pause of the machine is no work. */
const NEWEST_SHARE = 0.1
const LONGEST_IN_MEANS = 4

/** Places in front of the threads; how many there are follows from how long the work of one takes. */
export interface HashingQueue {
  /** Throws `Unavailable` when those who have a place need too long. */
  take(): Place
}

/** A place that is kept until it is left. */
export interface Place {
  /** Tells that a thread worked for this place. */
  worked(ms: number): void
  leave(): void
}

/** Places of which each is expected to need `expectedMs` of one of the threads, until they tell. */
export function createHashingQueue({
  threads,
  expectedMs,
}: {
  readonly threads: number
  readonly expectedMs: number
}): HashingQueue {
  let held = 0
  let meanMs = expectedMs

  return {
    take() {
      if ((held * meanMs) / threads > LONGEST_QUEUE_MS) throw new Unavailable()
      held++
      let isHeld = true
      let workedMs = 0
      return {
        worked(ms) {
          workedMs += ms
        },
        leave() {
          if (!isHeld) return
          isHeld = false
          held--
          // Whoever left before a turn tells nothing of how long one takes.
          if (workedMs > 0) meanMs += (Math.min(workedMs, LONGEST_IN_MEANS * meanMs) - meanMs) * NEWEST_SHARE
        },
      }
    },
  }
}
