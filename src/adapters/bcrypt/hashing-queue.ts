import type { HashingLoad } from '../../application/ports/metrics.ts'
import type { HashingRequest } from '../../application/ports/password-hasher.ts'
import { Unavailable } from '../../domain/errors.ts'
import { FairOrder } from './fair-order.ts'
import { MeanWork } from './mean-work.ts'
import { QueueEntry, type QueueSlot } from './queue-entry.ts'

/** The longest expected wait in the queue, in milliseconds. */
const MAX_QUEUE_MS = 2000
/** The number of slots that may wait however long the work of one takes: three colleagues beside several other sources. */
const MIN_WAITING = 8

/**
 * Admission control in front of the hashing threads, and their schedule. The number of slots follows from how long the work
 * of one takes.
 */
export class HashingQueue {
  readonly #threads: number
  readonly #meanWork: MeanWork
  #running = 0
  #pending = 0
  #held = 0
  #waiting = 0
  #numbers = 0
  readonly #order = new FairOrder<QueueEntry>()
  /** Entries with more work, of which some has begun. */
  readonly #begun = new Set<QueueEntry>()

  /** A slot is expected to need `expectedMs` of one thread until durations are recorded. */
  constructor({ threads, expectedMs }: { readonly threads: number; readonly expectedMs: number }) {
    this.#threads = threads
    this.#meanWork = new MeanWork(expectedMs)
  }

  /** Acquires a slot. Throws `Unavailable` when the queue is full and this is the slot to reject. */
  take(request: HashingRequest): QueueSlot {
    const entry = new QueueEntry(request, ++this.#numbers)
    const rejected = this.#findRejected(entry)
    if (rejected === entry) throw new Unavailable()
    if (rejected !== null) {
      this.#release(rejected)
      rejected.reject(new Unavailable())
    }
    this.#order.add(entry)
    this.#held++
    this.#waiting++
    let workedMs = 0
    return {
      run: (work) =>
        this.#run(entry, async () => {
          const startMs = performance.now()
          try {
            return await work()
          } finally {
            workedMs += performance.now() - startMs
          }
        }),
      leave: () => {
        if (!entry.isHeld) return
        this.#release(entry)
        this.#meanWork.record(workedMs)
      },
    }
  }

  /** Whether `take` would acquire a slot. Changes nothing. */
  hasRoom(request: HashingRequest): boolean {
    const probe = new QueueEntry(request, Number.POSITIVE_INFINITY)
    return this.#findRejected(probe) !== probe
  }

  /** Runs work that needs no slot and is never rejected. It takes turns with the sources of the slots. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const entry = new QueueEntry(null, ++this.#numbers)
    this.#order.add(entry)
    return this.#run(entry, work)
  }

  /** The number of threads that work, and of work that waits for one. */
  load(): HashingLoad {
    return { running: this.#running, waiting: this.#pending }
  }

  /** Returns the entry to reject when another one arrives; null while the queue has room. */
  #findRejected(arriving: QueueEntry): QueueEntry | null {
    if (this.#waiting < MIN_WAITING || (this.#held * this.#meanWork.ms) / this.#threads <= MAX_QUEUE_MS)
      return null
    this.#order.add(arriving)
    const found = this.#order.newestOfHeaviest()
    this.#order.remove(arriving)
    return found
  }

  #run<T>(entry: QueueEntry, work: () => Promise<T>): Promise<T> {
    const result = entry.add(
      () => {
        this.#running++
        return work().finally(() => {
          this.#running--
          this.#dispatch()
        })
      },
      (change) => {
        this.#pending += change
      },
    )
    if (entry.hasBegun) this.#begun.add(entry)
    this.#dispatch()
    return result
  }

  #dispatch(): void {
    while (this.#running < this.#threads) {
      const entry = this.#takeNext()
      if (entry === null) return
      entry.start()
    }
  }

  /** A login that has begun comes first: its client has waited, and its slot is released sooner. */
  #takeNext(): QueueEntry | null {
    for (const entry of this.#begun) {
      if (entry.isReady()) return entry
      this.#begun.delete(entry)
    }
    const entry = this.#order.takeNext()
    if (entry !== null) this.#begin(entry)
    return entry
  }

  #begin(entry: QueueEntry): void {
    entry.hasBegun = true
    this.#begun.add(entry)
    if (entry.isHeld) this.#waiting--
  }

  #release(entry: QueueEntry): void {
    if (!entry.hasBegun) {
      this.#order.remove(entry)
      this.#begin(entry)
    }
    entry.isHeld = false
    this.#held--
  }
}
