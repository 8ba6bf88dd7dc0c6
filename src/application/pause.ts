import type { Clock } from './ports/clock.ts'
import type { Cancellation } from './requester.ts'

/** Makes somebody wait for a call; answers how to forget it. */
type Queue = (wake: () => void) => () => void

/**
 * Waits to be woken from the queue, for at most `ms` milliseconds; answers whether that happened. Rejects with the
 * signal's reason when that aborts first; a null one never does.
 */
export function pause(
  ms: number,
  clock: Clock,
  signal: Cancellation | null,
  queue: Queue = () => () => {},
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const callOff = clock.after(ms, () => end(() => resolve(false)))
    const abort = () => end(() => reject(signal?.reason))
    signal?.addEventListener('abort', abort)
    const forget = queue(() => end(() => resolve(true)))

    function end(how: () => void): void {
      callOff()
      signal?.removeEventListener('abort', abort)
      forget()
      how()
    }
  })
}
