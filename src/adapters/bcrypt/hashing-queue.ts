import { Unavailable } from '../../domain/errors.ts'

/** The longest expected wait in the queue, in milliseconds. */
const MAX_QUEUE_MS = 2000
/** The weight of the newest sample in the moving average of the work of one slot. */
const NEWEST_SHARE = 0.1
/** The limit of a sample, as a multiple of the average: a pause of the machine is not work. */
const MAX_SAMPLE_FACTOR = 4

/** Admission control in front of the hashing threads. The number of slots follows from how long the work of one takes. */
export interface HashingQueue {
  /** Acquires a slot. Throws `Unavailable` when the acquired slots would need more than two seconds. */
  take(): QueueSlot
}

/** A slot, acquired until `leave` is called. */
export interface QueueSlot {
  /** Records that a thread worked for this slot for `ms` milliseconds. */
  worked(ms: number): void
  /** Releases the slot. Further calls do nothing. */
  leave(): void
}

/** Creates a queue. A slot is expected to need `expectedMs` of one thread until durations are recorded. */
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
      if ((held * meanMs) / threads > MAX_QUEUE_MS) throw new Unavailable()
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
          // A slot that was released before a thread worked for it is no sample.
          if (workedMs > 0) meanMs += (Math.min(workedMs, MAX_SAMPLE_FACTOR * meanMs) - meanMs) * NEWEST_SHARE
        },
      }
    },
  }
}
