import type { Invalidation, Invalidations } from '../../application/ports.ts'

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
