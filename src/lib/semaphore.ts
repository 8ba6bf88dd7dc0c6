import type { Cancellation } from './cancellation.ts'

/** Limits how many tasks run at the same time. The others wait, first in, first out. */
export interface Semaphore {
  /** Runs the task and returns its result. Rejects with the reason of the signal when that aborts before the task begins. */
  run<T>(task: () => Promise<T>, signal?: Cancellation): Promise<T>
  /** The number of tasks that run, and of tasks that wait. */
  load(): { readonly running: number; readonly waiting: number }
}

export function createSemaphore(maxRunning: number): Semaphore {
  let running = 0
  const waiting = new Set<() => void>()

  return {
    async run(task, signal) {
      if (running < maxRunning) running++
      else await acquire(signal)
      try {
        // The signal may have aborted just after this task got its slot.
        if (signal?.aborted) throw signal.reason
        return await task()
      } finally {
        // A waiting task takes over the slot, so the number of running tasks stays the same.
        const [first] = waiting
        if (first === undefined) running--
        else first()
      }
    },

    load: () => ({ running, waiting: waiting.size }),
  }

  function acquire(signal: Cancellation | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      waiting.add(wake)
      signal?.addEventListener('abort', abort)

      function wake(): void {
        dequeue()
        resolve()
      }
      function abort(): void {
        dequeue()
        reject(signal?.reason)
      }
      function dequeue(): void {
        waiting.delete(wake)
        signal?.removeEventListener('abort', abort)
      }
    })
  }
}
