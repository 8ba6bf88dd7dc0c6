import type { Clock } from '../../lib/clock.ts'

/** The clocks of the machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, call) {
    const atMs = performance.now() + ms
    let timer = setTimeout(wake, ms)
    return () => clearTimeout(timer)

    // node's timers may fire a little early.
    function wake(): void {
      const leftMs = atMs - performance.now()
      if (leftMs > 0) timer = setTimeout(wake, leftMs)
      else call()
    }
  },
}
