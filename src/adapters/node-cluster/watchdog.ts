import type { Worker } from 'node:cluster'
import { isAlive } from './messages.ts'

const TICK_MS = 1000
/** A worker is killed after this number of ticks without a message: ten seconds. */
const MAX_SILENT_TICKS = 10

/** Detects workers that are stopped or whose event loop hangs (a watchdog). */
export interface Watchdog {
  add(worker: Worker): void
  remove(worker: Worker): void
  close(): void
}

/**
 * Calls `onHung` for each serving worker that has sent no sign of life for ten seconds. It counts its own ticks, not time,
 * so that a pause of the whole machine harms no worker.
 */
export function watchWorkers(serving: () => ReadonlySet<Worker>, onHung: (worker: Worker) => void): Watchdog {
  const silentTicks = new Map<Worker, number>()
  const timer = setInterval(() => {
    for (const worker of serving()) {
      const ticks = (silentTicks.get(worker) ?? 0) + 1
      silentTicks.set(worker, ticks)
      if (ticks === MAX_SILENT_TICKS) onHung(worker)
    }
  }, TICK_MS)
  timer.unref()
  return {
    add(worker) {
      worker.on('message', (message) => {
        if (isAlive(message)) silentTicks.set(worker, 0)
      })
    },
    remove: (worker) => void silentTicks.delete(worker),
    close: () => clearInterval(timer),
  }
}

/** Sends the primary a sign of life each second while the event loop of this worker runs. */
export function sendSignsOfLife(): void {
  setInterval(() => process.send?.({ alive: true }, undefined, undefined, () => {}), TICK_MS).unref()
}
