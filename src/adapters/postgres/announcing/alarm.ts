import type { Clock } from '../../../application/ports.ts'

/** Acts once at a moment of the monotonic clock or after it, never before; answers how to call it off. */
export type Alarm = (atMonotonicMs: number, act: () => void) => () => void

/** An alarm by the timers of the process, which may fire a little early. */
export function timerAlarm(clock: Clock): Alarm {
  return (atMonotonicMs, act) => {
    let timer = setTimeout(wake, atMonotonicMs - clock.monotonicMs())
    return () => clearTimeout(timer)

    function wake(): void {
      const leftMs = atMonotonicMs - clock.monotonicMs()
      if (leftMs > 0) timer = setTimeout(wake, leftMs)
      else act()
    }
  }
}
