import type { Clock } from '../../../src/lib/clock.ts'
import { type Run, START_MS } from './run.ts'
import type { Sleeper } from './timeline.ts'

/** The machine of a process. Its clocks run at their own rate, and its timers are late. */
export interface Machine extends Sleeper {
  readonly clock: Clock
  /** Milliseconds of its clocks for each real millisecond. */
  readonly rate: number
  /** How long the monotonic clock stopped, and by how much the wall clock was set or stopped. */
  sleptMs: number
  setMs: number
  /** When both clocks may stop again. */
  standsAgainMs: number
}

/** The most that a timer is late, in milliseconds. */
export const LATE_MS = 2
const SLOWEST = 0.9

export function createMachine({ setting, time, chance }: Run): Machine {
  const rate = setting.clocks === 'standing' ? 1 : SLOWEST + chance.random() * (2 - 2 * SLOWEST)
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
    standsAgainMs: 0,
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
