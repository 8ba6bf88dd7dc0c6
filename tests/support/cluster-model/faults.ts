import type { Network } from './network.ts'
import type { Process, Processes } from './processes.ts'
import type { Run } from './run.ts'

export const FAULTS = [
  'pause',
  'pause',
  'set the clock',
  'freeze link',
  'freeze link',
  'lose link',
  'lose link',
  'slow link',
  'deafen link',
  'freeze speaker',
  'lose speaker',
  'kill',
  'leave',
  'join',
  'disable triggers',
] as const
export type Fault = (typeof FAULTS)[number]

export const MOST_INSTANCES = 5

/** Returns a function that injects a fault into a process, for a while where that applies. */
export function createFaults(
  { setting, time, chance }: Run,
  network: Network,
  processes: Processes,
): (fault: Fault, process: Process, ms: number) => void {
  return function breakSomething(fault, process, ms) {
    const { machine, link, publisher } = process
    const untilMs = time.nowMs + ms
    switch (fault) {
      case 'pause': {
        const longerMs = Math.max(0, untilMs - Math.max(time.nowMs, machine.wakesMs))
        machine.wakesMs = Math.max(machine.wakesMs, untilMs)
        machine.timersFirst = chance.random() < 0.5
        if (setting.clocks === 'asleep') machine.sleptMs += longerMs
        break
      }
      case 'set the clock':
        if (setting.clocks === 'set') machine.setMs += chance.random() < 0.5 ? ms : -ms
        break
      case 'freeze link':
        link.thawsMs = Math.max(link.thawsMs, untilMs)
        break
      case 'lose link':
        network.lose(process, link, ms)
        break
      case 'slow link':
        process.linkDelayMs = process.linkDelayMs === 0 ? ms : 0
        break
      case 'deafen link':
        link.isDeaf = true
        break
      case 'freeze speaker':
        publisher.thawsMs = Math.max(publisher.thawsMs, untilMs)
        break
      case 'lose speaker':
        publisher.isOpen = false
        time.after(ms, () => network.reopenPublisher(process), machine)
        break
      case 'kill':
        processes.kill(process)
        time.after(ms, processes.start)
        break
      case 'leave':
        if (processes.alive().length > 1) processes.leave(process)
        break
      case 'disable triggers':
        disableTriggers(ms)
        break
      case 'join':
        if (processes.alive().length < MOST_INSTANCES) processes.start()
        break
    }
  }

  /** Briefly, because no instance uses its cache while they are disabled, so little else can go wrong. */
  function disableTriggers(ms: number): void {
    const { triggers } = network
    if (!triggers.isEnabled) return
    Object.assign(triggers, { isEnabled: false, version: triggers.version + 1 })
    time.after(Math.min(ms, 300), () =>
      Object.assign(triggers, { isEnabled: true, version: triggers.version + 1 }),
    )
  }
}
