import type { Clock } from '../lib/clock.ts'

/** A clock that stands still until a test advances it. */
export interface MovableClock extends Clock {
  /** Advances both clocks by `ms` milliseconds and calls the timers that are due. */
  advance(ms: number): void
  /** Sets the wall clock forward or back, as an operator or NTP does. */
  setWall(differenceMs: number): void
}

/** Creates a clock whose wall time starts at `startMs`, in milliseconds since the Unix epoch. */
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

/** The longest delay of a timer in Node.js. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Returns the same clock for a running service. A timer fires when the clock has advanced by its delay, or after the same
 * real time, so that no caller waits forever. The clock's time advances only through `advance`.
 */
export function neverStuck(clock: MovableClock): MovableClock {
  return {
    ...clock,
    after(ms, call) {
      const cancel = clock.after(ms, end)
      const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS)).unref()
      return () => {
        cancel()
        clearTimeout(timer)
      }

      function end(): void {
        cancel()
        clearTimeout(timer)
        call()
      }
    },
  }
}
