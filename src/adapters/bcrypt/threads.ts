import type { Cancellation } from '../../application/requester.ts'

/** Lets only so many works run at once; the others wait in line, first come, first served. */
export interface Threads {
  /** Answers what the work does. Rejects with the signal's reason, and never begins, when that aborts before its turn. */
  run<T>(work: () => Promise<T>, signal?: Cancellation): Promise<T>
  /** How many works run now, and how many wait. */
  load(): { readonly running: number; readonly waiting: number }
}

export function makeThreads(most: number): Threads {
  let busy = 0
  const waiting = new Set<() => void>()

  return {
    async run(work, signal) {
      if (busy < most) busy++
      else await handedOn(signal)
      try {
        // It may have aborted just after the thread was handed on.
        if (signal?.aborted) throw signal.reason
        return await work()
      } finally {
        // A thread that is handed on stays busy.
        const [first] = waiting
        if (first === undefined) busy--
        else first()
      }
    },

    load: () => ({ running: busy, waiting: waiting.size }),
  }

  function handedOn(signal: Cancellation | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      waiting.add(take)
      signal?.addEventListener('abort', giveUp)

      function take(): void {
        leave()
        resolve()
      }
      function giveUp(): void {
        leave()
        reject(signal?.reason)
      }
      function leave(): void {
        waiting.delete(take)
        signal?.removeEventListener('abort', giveUp)
      }
    })
  }
}
