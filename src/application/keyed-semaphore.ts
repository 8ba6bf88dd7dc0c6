import { Unavailable } from '../domain/errors.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import type { Clock } from '../lib/clock.ts'
import { wait } from '../lib/wait.ts'

const MAX_WAIT_MS = 2000

/** A semaphore for each key, within this process. The callers beyond the limit wait in a queue. */
export interface KeyedSemaphore {
  /**
   * Acquires a slot of the key and returns a function that releases it. Rejects with `Unavailable` after two seconds, and
   * with the reason of the signal when that aborts first.
   */
  acquire(key: string, signal: Cancellation): Promise<() => void>
}

interface Queue {
  taken: number
  readonly waiting: Set<() => void>
}

/** Creates semaphores of `maxTaken` slots for each key. */
export function createKeyedSemaphore(maxTaken: number, clock: Clock): KeyedSemaphore {
  const queues = new Map<string, Queue>()

  return {
    async acquire(key, signal) {
      const queue = queues.get(key) ?? { taken: 0, waiting: new Set() }
      queues.set(key, queue)
      if (queue.taken < maxTaken) queue.taken++
      // A released slot is handed over: the number of taken ones stays.
      else await waitFor(queue, signal)

      return function release() {
        const [first] = queue.waiting
        if (first !== undefined) first()
        else if (--queue.taken === 0) queues.delete(key)
      }
    },
  }

  async function waitFor({ waiting }: Queue, signal: Cancellation): Promise<void> {
    const wasWoken = await wait(MAX_WAIT_MS, clock, signal, (wake) => {
      waiting.add(wake)
      return () => waiting.delete(wake)
    })
    if (!wasWoken) throw new Unavailable()
  }
}
