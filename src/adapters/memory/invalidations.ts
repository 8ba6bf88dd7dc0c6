import type { Invalidation, Invalidations } from '../../application/ports/invalidations.ts'
import type { Clock } from '../../lib/clock.ts'
import { wait } from '../../lib/wait.ts'

const MAX_TIMER_MS = 86_400_000

/** Invalidations within one process, applied before `publish` resolves. */
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
 * Invalidations for a process without a cache, such as a command, beside services whose caches it cannot reach. `publish`
 * resolves after `lifetimeMs` milliseconds, when every cached entry has expired.
 */
export function timedInvalidations(clock: Pick<Clock, 'after'>, lifetimeMs: number): Invalidations {
  return {
    subscribe() {},
    isCurrent: () => false,
    async publish() {
      // In steps, because one timer cannot last longer than about 24 days.
      for (let leftMs = lifetimeMs; leftMs > 0; leftMs -= MAX_TIMER_MS) {
        await wait(Math.min(leftMs, MAX_TIMER_MS), clock, null)
      }
    },
  }
}
