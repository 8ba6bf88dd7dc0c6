import type { Cancellation } from './cancellation.ts'
import type { Clock } from './clock.ts'

/** Adds a waiter to a queue and returns a function that removes it. */
type Enqueue = (wake: () => void) => () => void

/**
 * Waits `ms` milliseconds. With `enqueue`, waits at most that long to be woken. Resolves to whether it was woken. Rejects
 * with the reason of the signal when that aborts first; with `null` it cannot be cancelled.
 */
export function wait(
  ms: number,
  clock: Pick<Clock, 'after'>,
  signal: Cancellation | null,
  enqueue: Enqueue = () => () => {},
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const cancelTimer = clock.after(ms, () => end(() => resolve(false)))
    const abort = () => end(() => reject(signal?.reason))
    signal?.addEventListener('abort', abort)
    const dequeue = enqueue(() => end(() => resolve(true)))

    function end(settle: () => void): void {
      cancelTimer()
      signal?.removeEventListener('abort', abort)
      dequeue()
      settle()
    }
  })
}
