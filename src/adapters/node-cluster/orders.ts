import type { Worker } from 'node:cluster'
import { isApplied } from './messages.ts'

/** What is told to workers, until every one of them has obeyed. */
export interface Orders {
  /** Sends it to these; resolves when each has obeyed, or is gone. */
  tell(workers: Iterable<Worker>, order: object): Promise<void>
  /** Hears what a worker says. */
  heard(worker: Worker, message: unknown): void
  /** Waits for a worker no longer. */
  gone(worker: Worker): void
}

/** Orders of one primary, none of them told yet. */
export function ordersToWorkers(): Orders {
  const waiting = new Map<number, (worker?: Worker) => void>()
  let last = 0

  return {
    tell(workers, order) {
      const n = ++last
      const waited = new Set(workers)
      // Of one that has just ended nobody hears it.
      for (const worker of waited) worker.send({ order, n }, () => {})
      return new Promise((resolve) => {
        const without = (worker?: Worker) => {
          if (worker !== undefined) waited.delete(worker)
          if (waited.size > 0) return
          waiting.delete(n)
          resolve()
        }
        waiting.set(n, without)
        without()
      })
    },
    heard(worker, message) {
      if (isApplied(message)) waiting.get(message.applied)?.(worker)
    },
    gone(worker) {
      for (const without of waiting.values()) without(worker)
    },
  }
}
