import { Unavailable } from '../domain/errors.ts'
import type { Clock } from './ports/clock.ts'
import { isLater, type Soon } from './soon.ts'

/** The time that one request may spend waiting for its stores, all its calls together. */
export interface Patience {
  /** Calls with the milliseconds that are left, and takes off what the call used; rejects with `Unavailable` when none are left. */
  wait<Answer extends Soon<unknown>>(call: (waitMs: number) => Answer): Answer
}

/** Patience of `totalMs` that has not been tried yet. */
export function patienceOf(totalMs: number, clock: Clock): Patience {
  let leftMs = totalMs
  return {
    wait<Answer extends Soon<unknown>>(call: (waitMs: number) => Answer) {
      if (leftMs <= 0) return Promise.reject(new Unavailable()) as Answer
      const beganMs = clock.monotonicMs()
      const answer = call(leftMs)
      if (!isLater(answer)) return answer
      const settled = Promise.resolve(answer).finally(() => {
        leftMs -= clock.monotonicMs() - beganMs
      })
      return settled as Answer
    },
  }
}
