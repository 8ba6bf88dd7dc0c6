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
  let remainingMs = totalMs
  return {
    run<Result extends MaybePromise<unknown>>(call: (timeoutMs: number) => Result) {
      if (remainingMs <= 0) return Promise.reject(new Unavailable()) as Result
      const startMs = clock.monotonicMs()
      const result = call(remainingMs)
      if (!isPromise(result)) return result
      const settled = Promise.resolve(result).finally(() => {
        remainingMs -= clock.monotonicMs() - startMs
      })
      return settled as Result
    },
  }
}
