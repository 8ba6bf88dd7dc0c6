import type { Invalidation, Invalidations } from '../../application/ports/invalidations.ts'
import type { Clock } from '../../lib/clock.ts'

const LONGEST_TIMER_MS = 86_400_000

/** Invalidations within one process: obeyed before `announce` resolves. */
export function memoryInvalidations(): Invalidations {
  const subscribers: ((invalidation: Invalidation) => void)[] = []
  return {
    subscribe(apply) {
      subscribers.push(apply)
    },
    isCurrent: () => true,
    async publish(invalidation) {
      for (const apply of subscribers) apply(invalidation)
    },
  }
}

/**
 * Invalidations for a process that keeps nothing, beside one that keeps validations and does not hear of it: a change is
 * acknowledged when `keptMs` have passed, and nothing that was read before is used any more.
 */
export function timedInvalidations(clock: Pick<Clock, 'after'>, lifetimeMs: number): Invalidations {
  return {
    subscribe() {},
    isCurrent: () => false,
    async publish() {
      // Longer ones than a timer takes, too.
      for (let leftMs = lifetimeMs; leftMs > 0; leftMs -= LONGEST_TIMER_MS) {
        await new Promise<void>((resolve) => clock.after(Math.min(leftMs, LONGEST_TIMER_MS), resolve))
      }
    },
  }
}
