import { BEAT_MS } from '../../../src/adapters/postgres/revocation/heartbeats.ts'
import { protocolInstance } from '../../../src/adapters/postgres/revocation/instance.ts'
import { LEASE_MS } from '../../../src/adapters/postgres/revocation/lease.ts'
import { OWN_CHANNEL } from '../../../src/adapters/postgres/revocation/notifications.ts'
import type { InstanceOptions } from '../../../src/adapters/postgres/revocation/protocol.ts'
import type { Invalidation, Invalidations } from '../../../src/application/ports/invalidations.ts'
import { VerifierHub } from '../../../src/application/verifiers/verifier-hub.ts'
import type { Database } from './database.ts'
import type { History } from './history.ts'
import { createMachine } from './machine.ts'
import type { Endpoint, Network } from './network.ts'
import { expectInTime } from './promises.ts'
import type { Run } from './run.ts'
import { createService, type Service } from './service.ts'
import { openLink, openPublisher } from './streams.ts'
import { instanceOfVersion } from './versions.ts'

/** The process of one instance. */
export interface Process extends Endpoint {
  readonly name: string
  readonly service: Service
  readonly hub: VerifierHub
  /** Whether it has said goodbye. It then gets no more requests. */
  hasLeft: boolean
}

/** The processes of a run. Each new one has a unique name. */
export interface Processes {
  /** The processes that get requests. */
  alive(): readonly Process[]
  start(): void
  /** Says goodbye, and stops a moment later. */
  leave(process: Process): void
  kill(process: Process): void
}

/** As in the adapter, a listener connection is replaced after this time without a notification. */
const DEAF_MS = 2 * LEASE_MS
/** Delay before a silent listener connection is replaced, and between a goodbye and the exit. */
const PAUSE_MS = 50

export function createProcesses(run: Run, history: History, database: Database, network: Network): Processes {
  const { parts, setting, time, chance } = run
  const all: Process[] = []
  let started = 0
  return { alive, start, leave, kill }

  function alive(): readonly Process[] {
    return all.filter(({ machine, hasLeft }) => machine.isAlive && !hasLeft)
  }

  function start(): void {
    started += 1
    const machine = createMachine(run)
    const subscribers: ((invalidation: Invalidation) => void)[] = []
    let settleVerifiers = (done: () => void) => done()
    const version = started % 2 === 0 ? setting.versions : 'same'
    const hasOwnChannel = version === 'same' || version === 'next'
    const name = `${hasOwnChannel ? OWN_CHANNEL : ''}i${started}`
    const create =
      version === 'same'
        ? parts.instance
        : (options: InstanceOptions) => instanceOfVersion(version, protocolInstance, options)
    const instance = create({
      name,
      clock: machine.clock,
      send: (payload) => network.say(process, payload),
      apply,
      warn() {},
      settleVerifiers: (done) => settleVerifiers(done),
    })
    const invalidations: Invalidations = {
      subscribe: (subscriber) => subscribers.push(subscriber),
      isCurrent: instance.holdsLease,
      lease: instance.lease,
      onSettle(settle) {
        settleVerifiers = settle
      },
      async publish(invalidation) {
        const beganMs = time.nowMs
        apply(invalidation)
        process.announcing += 1
        await instance.settled()
        process.announcing -= 1
        expectInTime(run, machine, beganMs)
      },
    }
    const process: Process = {
      name,
      machine,
      instance,
      service: createService(run, history, database, machine, invalidations),
      link: { ...openLink(), isOpen: false },
      linkDelayMs: 0,
      receivedMs: Infinity,
      publisher: openPublisher(),
      announcing: 0,
      version,
      hub: new VerifierHub(invalidations, machine.clock),
      hasLeft: false,
    }
    all.push(process)
    time.after(chance.random() * 5, () => network.connect(process), machine)
    time.after(chance.random() * BEAT_MS, () => beat(process), machine, true)

    function apply(invalidation: Invalidation): void {
      for (const subscriber of subscribers) subscriber(invalidation)
    }
  }

  function beat(process: Process): void {
    process.instance.beat()
    const { machine, link, receivedMs } = process
    if (machine.clock.monotonicMs() - receivedMs > DEAF_MS) network.lose(process, link, PAUSE_MS)
    time.after(BEAT_MS / machine.rate, () => beat(process), machine, true)
  }

  function leave(process: Process): void {
    process.hasLeft = true
    time.after(0, sayGoodbye, process.machine)

    function sayGoodbye(): void {
      time.wakes = true
      void process.hub.leave().then(() => {
        process.instance.leave()
        time.after(PAUSE_MS, () => kill(process), process.machine)
      })
    }
  }

  function kill(process: Process): void {
    process.machine.isAlive = false
    network.hangUp(process)
  }
}
