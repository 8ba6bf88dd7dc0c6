import { Unavailable } from '../domain/errors.ts'
import type { Clock } from './ports.ts'

/** The time that one request may spend waiting for its stores, all its calls together. */
export interface Patience {
  /** Calls with the milliseconds that are left, and takes off what the call used; `Unavailable` when none are left. */
  wait<T>(call: (waitMs: number) => Promise<T>): Promise<T>
}

/** Patience of `totalMs` that has not been tried yet. */
export function patienceOf(totalMs: number, clock: Clock): Patience {
  let leftMs = totalMs
  return {
    async wait(call) {
      if (leftMs <= 0) throw new Unavailable()
      const beganMs = clock.monotonicMs()
      try {
        return await call(leftMs)
      } finally {
        leftMs -= clock.monotonicMs() - beganMs
      }
    },
  }
}
