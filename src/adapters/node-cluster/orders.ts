import type { Worker } from 'node:cluster'
import { isApplied } from './messages.ts'

/** Sends orders to workers and waits for their acknowledgements. */
export interface OrderSender {
  /** Sends the order; resolves when each worker has acknowledged it or has ended. */
  send(workers: Iterable<Worker>, order: object): Promise<void>
  /** Handles a worker's message. */
  receive(worker: Worker, message: unknown): void
  /** No longer waits for a worker, because it ended. */
  remove(worker: Worker): void
}

/** Returns the sender of one primary. */
export function ordersToWorkers(): OrderSender {
  const waiting = new Map<number, (worker?: Worker) => void>()
  let last = 0

  return {
    send(workers, order) {
      const n = ++last
      const waited = new Set(workers)
      // A worker that has just ended does not receive it.
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
    receive(worker, message) {
      if (isApplied(message)) waiting.get(message.applied)?.(worker)
    },
    remove(worker) {
      for (const without of waiting.values()) without(worker)
    },
  }
}
