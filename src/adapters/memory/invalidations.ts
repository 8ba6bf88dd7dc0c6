import type { Clock } from '../../application/ports/clock.ts'
import type { Invalidation, Invalidations } from '../../application/ports/invalidations.ts'

const LONGEST_TIMER_MS = 86_400_000

/** Invalidations within one process: obeyed before `announce` resolves. */
export function memoryInvalidations(): Invalidations {
  const subscribers: ((invalidation: Invalidation) => void)[] = []
  return {
    subscribe(obey) {
      subscribers.push(obey)
    },
    isCurrent: () => true,
    async announce(invalidation) {
      for (const obey of subscribers) obey(invalidation)
    },
  }
}

/**
 * Invalidations for a process that keeps nothing, beside one that keeps validations and does not hear of it: a change is
 * acknowledged when `keptMs` have passed, and nothing that was read before is used any more.
 */
export function outlivedInvalidations(clock: Pick<Clock, 'after'>, keptMs: number): Invalidations {
  return {
    subscribe() {},
    isCurrent: () => false,
    async announce() {
      // Longer ones than a timer takes, too.
      for (let leftMs = keptMs; leftMs > 0; leftMs -= LONGEST_TIMER_MS) {
        await new Promise<void>((resolve) => clock.after(Math.min(leftMs, LONGEST_TIMER_MS), resolve))
      }
    },
  }
}
