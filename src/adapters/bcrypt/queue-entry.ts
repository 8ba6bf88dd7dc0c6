import type { HashingRequest } from '../../application/ports/password-hasher.ts'
import type { Cancellation } from '../../lib/cancellation.ts'
import type { Ordered } from './fair-order.ts'

interface Task {
  start(): void
  cancel(reason: unknown): void
}

/** A slot, acquired until `leave` is called. */
export interface QueueSlot {
  /**
   * Runs the work on a thread. Rejects with `Unavailable` when the queue has rejected the slot, and with the reason of the
   * signal when that aborts before the work begins.
   */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Releases the slot. Further calls do nothing. */
  leave(): void
}

/** An entry of the hashing queue, with its work that waits for a thread. */
export class QueueEntry implements Ordered {
  readonly source: string | null
  readonly account: string
  readonly isKnown: boolean
  readonly number: number
  /** Whether it is a slot that is not released. */
  isHeld: boolean
  /** Whether some of its work has begun: then it is no longer rejected. */
  hasBegun = false
  #rejection: Error | null = null
  readonly #signal: Cancellation | null
  readonly #tasks = new Set<Task>()

  /** `request` is null for work that needs no slot. */
  constructor(request: HashingRequest | null, number: number) {
    this.source = request?.source ?? null
    this.account = request?.account ?? ''
    this.isKnown = request?.isKnown ?? true
    this.isHeld = request !== null
    this.#signal = request?.signal ?? null
    this.number = number
  }

  isReady(): boolean {
    return this.#tasks.size > 0
  }

  /** Adds work and returns its result. Calls `counted` with 1 when it begins to wait, and with -1 when it no longer does. */
  add<T>(work: () => Promise<T>, counted: (change: 1 | -1) => void): Promise<T> {
    const [signal, tasks] = [this.#signal, this.#tasks]
    return new Promise((resolve, reject) => {
      if (this.#rejection !== null) return reject(this.#rejection)
      if (signal?.aborted) return reject(signal.reason)
      const task: Task = {
        start() {
          dequeue()
          resolve(work())
        },
        cancel(reason) {
          dequeue()
          reject(reason)
        },
      }
      const abort = () => task.cancel(signal?.reason)
      signal?.addEventListener('abort', abort)
      tasks.add(task)
      counted(1)

      function dequeue(): void {
        signal?.removeEventListener('abort', abort)
        tasks.delete(task)
        counted(-1)
      }
    })
  }

  /** Starts the work that was added first. */
  start(): void {
    const [task] = this.#tasks
    task?.start()
  }

  /** Rejects all its work, pending or later. */
  reject(error: Error): void {
    this.#rejection = error
    for (const task of this.#tasks) task.cancel(error)
  }
}
