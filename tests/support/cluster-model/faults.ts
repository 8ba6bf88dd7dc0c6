import { LEASE_MS } from '../../../src/adapters/postgres/revocation/lease.ts'
import type { Machine } from './machine.ts'
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
  'reopen and freeze link',
  'slow link',
  'deafen link',
  'freeze speaker',
  'lose speaker',
  'kill',
  'leave',
  'join',
  'disable triggers',
  'send as a stranger',
] as const
export type Fault = (typeof FAULTS)[number]

export const MOST_INSTANCES = 5
/** The margin of a lease covers pauses of both clocks below 200 ms. */
const LONGEST_STAND_MS = 190

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
        if (setting.clocks === 'standing') standStill(machine, longerMs)
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
      case 'reopen and freeze link':
        network.lose(process, link, 5)
        time.after(20 + chance.random() * 100, () => {
          process.link.thawsMs = Math.max(process.link.thawsMs, time.nowMs + ms)
        })
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
      case 'send as a stranger':
        for (const payload of forgedPayloads()) network.notifyInPublic(payload)
        break
      case 'join':
        if (processes.alive().length < MOST_INSTANCES) processes.start()
        break
    }
  }

  /** Stops both clocks during a part of a pause, at most once in a lease. */
  function standStill(machine: Machine, ms: number): void {
    if (time.nowMs < machine.standsAgainMs) return
    const stoppedMs = Math.min(ms, LONGEST_STAND_MS)
    machine.sleptMs += stoppedMs
    machine.setMs -= stoppedMs
    machine.standsAgainMs = time.nowMs + ms + LEASE_MS
  }

  /** Any role that may connect can send this: goodbyes and acknowledgements of others, heartbeats, or nonsense. */
  function forgedPayloads(): readonly string[] {
    const names = processes.alive().map(({ name }) => name)
    const course = chance.random()
    if (course < 0.1) return ['hello']
    if (course < 0.2) return ['1 beat unknown 1', '1 forget']
    return names.flatMap((name) => [
      `1 bye ${name}`,
      ...names.flatMap((asker) => [1, 2, 3].map((n) => `1 seen ${name} ${asker} ${n}`)),
    ])
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
