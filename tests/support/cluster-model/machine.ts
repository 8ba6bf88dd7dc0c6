import type { Clock } from '../../../src/lib/clock.ts'
import { type Run, START_MS } from './run.ts'
import type { Sleeper } from './timeline.ts'

/** What a process runs on: its clocks go at a rate of their own, and its timers are late. */
export interface Machine extends Sleeper {
  readonly clock: Clock
  /** Milliseconds of its own for each true one. */
  readonly rate: number
  /** How long the monotonic clock stood still, and how far the wall clock was set. */
  sleptMs: number
  setMs: number
}

/** Timers are late by up to as much. */
export const LATE_MS = 2
const SLOWEST = 0.99

export function machineOf({ time, chance }: Run): Machine {
  const rate = SLOWEST + chance.random() * (2 - 2 * SLOWEST)
  const offsetMs = chance.random() * 200 - 100
  const bornMs = time.nowMs
  const clock: Clock = {
    nowMs: () => START_MS + offsetMs + time.nowMs * rate + machine.setMs,
    monotonicMs: () => 5 + (time.nowMs - bornMs - machine.sleptMs) * rate,
    after,
  }
  const machine: Machine = {
    clock,
    rate,
    isAlive: true,
    wakesMs: 0,
    timersFirst: true,
    sleptMs: 0,
    setMs: 0,
  }
  return machine

  function after(ms: number, act: () => void): () => void {
    const atMonotonicMs = clock.monotonicMs() + ms
    let isOff = false
    wait()
    return () => {
      isOff = true
    }

    function wait(): void {
      time.after(leftMs() + chance.random() * LATE_MS, wake, machine, true)
    }

    function wake(): void {
      if (isOff) return
      if (leftMs() > 0) wait()
      else {
        time.wakes = true
        act()
      }
    }

    function leftMs(): number {
      return (atMonotonicMs - clock.monotonicMs()) / rate
    }
  }
}
