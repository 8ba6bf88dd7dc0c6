import { Unavailable } from '../domain/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { isPromise, type MaybePromise } from '../lib/maybe-promise.ts'

/** A time budget: how long one request may wait for its stores, over all its calls. */
export interface Deadline {
  /**
   * Calls with the milliseconds that remain, and subtracts the time that the call took. Rejects with `Unavailable` when
   * none remain.
   */
  run<Result extends MaybePromise<unknown>>(call: (timeoutMs: number) => Result): Result
}

/** Starts a deadline of `totalMs` milliseconds. Only the time inside `run` counts. */
export function createDeadline(totalMs: number, clock: Clock): Deadline {
  return new RemainingTime(totalMs, clock)
}

class RemainingTime implements Deadline {
  #remainingMs: number
  readonly #clock: Clock

  constructor(totalMs: number, clock: Clock) {
    this.#remainingMs = totalMs
    this.#clock = clock
  }

  run<Result extends MaybePromise<unknown>>(call: (timeoutMs: number) => Result): Result {
    if (this.#remainingMs <= 0) return Promise.reject(new Unavailable()) as Result
    const startMs = this.#clock.monotonicMs()
    const result = call(this.#remainingMs)
    if (!isPromise(result)) return result
    const settled = Promise.resolve(result).finally(() => {
      this.#remainingMs -= this.#clock.monotonicMs() - startMs
    })
    return settled as Result
  }
}
