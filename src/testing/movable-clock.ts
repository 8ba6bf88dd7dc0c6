import type { Clock } from '../lib/clock.ts'

/** A clock that stands still until it is moved. */
export interface MovableClock extends Clock {
  /** Lets time pass, on both clocks, and calls what was due meanwhile. */
  advance(ms: number): void
  /** Sets the wall clock forward or back, as an operator or NTP does. */
  setWall(differenceMs: number): void
}

/** A clock that begins at `startMs` of the wall; nothing passes by itself. */
export function movableClock(startMs = 1_700_000_000_000): MovableClock {
  let wallMs = startMs
  let monotonicMs = 5
  const timers = new Set<{ readonly atMs: number; readonly call: () => void }>()
  return {
    nowMs: () => wallMs,
    monotonicMs: () => monotonicMs,
    after(ms, call) {
      const timer = { atMs: monotonicMs + ms, call }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      wallMs += ms
      monotonicMs += ms
      for (const timer of timers) {
        if (timer.atMs <= monotonicMs && timers.delete(timer)) timer.call()
      }
    },
    setWall(differenceMs) {
      wallMs += differenceMs
    },
  }
}

/** The longest that node can wait. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * The same clock for a service that runs: what waits is called when the clock has moved so far, or when so long has really
 * passed. It tells of time only what it was moved by, and still nobody waits for ever.
 */
export function neverStuck(clock: MovableClock): MovableClock {
  return {
    ...clock,
    after(ms, call) {
      const callOff = clock.after(ms, end)
      const timer = setTimeout(end, Math.min(ms, LONGEST_MS)).unref()
      return () => {
        callOff()
        clearTimeout(timer)
      }

      function end(): void {
        callOff()
        clearTimeout(timer)
        call()
      }
    },
  }
}
