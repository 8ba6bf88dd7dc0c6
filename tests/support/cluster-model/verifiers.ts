import assert from 'node:assert/strict'
import { LEASE_MS } from '../../../src/adapters/postgres/revocation/lease.ts'
import { VERIFIER_BEAT_MS } from '../../../src/adapters/verifier/connection.ts'
import { VerifierCore } from '../../../src/adapters/verifier/verifier-core.ts'
import { VerifierUnavailable } from '../../../src/application/verifiers/verifier.ts'
import type { VerifierSession } from '../../../src/application/verifiers/verifier-session.ts'
import { InvalidToken, TooManyUnknownTokens, Unavailable } from '../../../src/domain/errors.ts'
import type { History, Known } from './history.ts'
import { createMachine, type Machine } from './machine.ts'
import type { Process, Processes } from './processes.ts'
import type { Run } from './run.ts'
import { DEADLINE, REQUESTER } from './service.ts'
import { openStream, type Stream, transmit } from './streams.ts'

export const VERIFIER_FAULTS = [
  'pause',
  'freeze what it receives',
  'freeze what it sends',
  'freeze both',
  'lose at the verifier',
  'lose at the process',
  'move',
  'kill',
] as const
export type VerifierFault = (typeof VERIFIER_FAULTS)[number]

/** Counts of a run with verifiers. */
export interface VerifierTally {
  verified: number
  hits: number
  /** Verifications that began after an acknowledgement, on a verifier that held a lease. */
  afterAcknowledgementWithLease: number
  afterAcknowledgement: number
}

/** The verifiers of a run: other processes, on machines of their own, that cache by the leases of instances. */
export interface Verifiers {
  start(): void
  validateEverywhere(tokens: readonly Known[]): void
  break(fault: VerifierFault, pick: number, ms: number): void
}

export const NO_VERIFIERS: Verifiers = { start() {}, validateEverywhere() {}, break() {} }

interface Connection {
  readonly process: Process
  readonly down: Stream
  readonly up: Stream
  session: VerifierSession | null
  /** Whether the process reads and writes it. It may notice a loss late. */
  isOpenAtProcess: boolean
}

interface Verifier {
  readonly name: string
  readonly machine: Machine
  readonly core: VerifierCore
  connection: Connection | null
  /** Whether the core runs on the connection. */
  isConnected: boolean
  receivedMs: number
}

const SILENCE_MS = 2000
const UNAVAILABLE = [VerifierUnavailable, Unavailable, TooManyUnknownTokens]
/** Its unknown tokens are not charged to the clients of the model. */
const VERIFIER = { ...REQUESTER, payer: 'service verifier' }

export function createVerifiers(
  run: Run,
  history: History,
  { alive }: Processes,
  tally: VerifierTally,
): Verifiers {
  const { setting, time, chance } = run
  const all: Verifier[] = []
  let started = 0
  return { start, validateEverywhere, break: breakSomething }

  function start(): void {
    started += 1
    // Two machines whose clocks stand still together may exceed the margin, which decision record 0015 states.
    const steady =
      setting.clocks === 'standing' ? ({ ...run, setting: { ...setting, clocks: 'steady' } } as Run) : run
    const machine = createMachine(steady)
    const verifier: Verifier = {
      name: `v${started}`,
      machine,
      core: new VerifierCore(machine.clock, 100),
      connection: null,
      isConnected: false,
      receivedMs: 0,
    }
    all.push(verifier)
    time.after(chance.random() * 20, () => connect(verifier), machine)
    time.after(chance.random() * VERIFIER_BEAT_MS, () => beat(verifier), machine, true)
  }

  function connect(verifier: Verifier): void {
    const candidates = alive().filter(({ version }) => version === 'same')
    const process = candidates[Math.floor(chance.random() * candidates.length)]
    if (process === undefined || verifier.connection !== null) return
    const connection: Connection = {
      process,
      down: openStream(),
      up: openStream(),
      session: null,
      isOpenAtProcess: true,
    }
    verifier.connection = connection
    time.after(chance.shortly(), () => accept(verifier, connection), process.machine)
  }

  function accept(verifier: Verifier, connection: Connection): void {
    const { process, down } = connection
    connection.session = process.hub.open({
      name: verifier.name,
      service: 'verifier',
      requester: REQUESTER,
      isAllowed: () => true,
      send(line) {
        if (!connection.isOpenAtProcess) return
        transmit(time, down, line, chance.shortly(), verifier.machine, (arrived) =>
          receive(verifier, connection, arrived),
        )
      },
      close() {
        connection.isOpenAtProcess = false
        time.after(chance.travelling(), () => lose(verifier, connection, 50), verifier.machine)
      },
    })
    // The response of the upgrade takes the same way as the lines after it.
    transmit(time, down, 'upgraded', chance.shortly(), verifier.machine, () => {
      if (verifier.connection !== connection) return
      verifier.receivedMs = verifier.machine.clock.monotonicMs()
      verifier.isConnected = true
      verifier.core.connected((line) =>
        transmit(time, connection.up, line, chance.shortly(), process.machine, (arrived) =>
          handle(connection, arrived),
        ),
      )
    })
  }

  /** A line arrives at the verifier. Nothing of an earlier connection is read. */
  function receive(verifier: Verifier, connection: Connection, line: string): void {
    if (verifier.connection !== connection) return
    const { core, machine } = verifier
    verifier.receivedMs = machine.clock.monotonicMs()
    time.wakes = true
    const [kind, digest = ''] = line.split(' ')
    try {
      core.received(kind === 'digest' ? `digest ${Buffer.from(digest).toString('hex')}` : line)
    } catch {
      lose(verifier, connection, 20)
    }
  }

  /** A line arrives at the process. */
  function handle(connection: Connection, line: string): void {
    const { session, isOpenAtProcess, process } = connection
    if (session === null || !isOpenAtProcess) return
    const [kind, first = '', digest = ''] = line.split(' ')
    time.wakes = true
    if (kind === 'beat') session.beat(Number(first))
    else if (kind === 'seen') session.seen(Number(first))
    else if (kind === 'bye') session.bye()
    else if (kind === 'find') respondTo(connection, process, first, digest)
  }

  function respondTo({ down }: Connection, process: Process, n: string, digest: string): void {
    const connection = all.find((one) => one.connection?.down === down)
    const respond = (line: string) => {
      const { connection: current = null } = connection ?? {}
      if (current?.down !== down || !current.isOpenAtProcess || connection === undefined) return
      transmit(time, down, line, chance.shortly(), connection.machine, (arrived) =>
        receive(connection, current, arrived),
      )
    }
    const looking = (async () => process.service.authenticate(digest, DEADLINE, VERIFIER))()
    time.watch(
      looking.then(
        ({ token, customer }) => {
          const expires =
            token.expiresAtMs === null ? null : token.expiresAtMs - process.machine.clock.nowMs()
          const fields = {
            customer: customer.id,
            email: 'e',
            token: token.id,
            name: token.name,
            abilities: [],
            expires,
          }
          respond(`found ${n} ${JSON.stringify({ ...fields, keep: 60_000 })}`)
        },
        (error: unknown) => respond(error instanceof InvalidToken ? `none ${n}` : `failed ${n}`),
      ),
    )
  }

  /** The verifier notices that its connection is lost; the process notices at some time. */
  function lose(verifier: Verifier, connection: Connection, ms: number): void {
    if (verifier.connection !== connection) return
    verifier.connection = null
    verifier.isConnected = false
    time.wakes = true
    verifier.core.lost()
    time.after(chance.travelling(), () => loseAtProcess(connection), connection.process.machine)
    time.after(ms + chance.random() * 50, () => connect(verifier), verifier.machine)
  }

  function loseAtProcess(connection: Connection): void {
    if (!connection.isOpenAtProcess) return
    connection.isOpenAtProcess = false
    time.wakes = true
    connection.session?.lost()
  }

  function beat(verifier: Verifier): void {
    const { machine, core, connection, isConnected } = verifier
    if (connection === null) connect(verifier)
    else if (machine.clock.monotonicMs() - verifier.receivedMs > SILENCE_MS && isConnected)
      lose(verifier, connection, 20)
    else if (!connection.process.machine.isAlive && !isConnected) lose(verifier, connection, 20)
    else if (isConnected) core.beat()
    time.after(VERIFIER_BEAT_MS / machine.rate, () => beat(verifier), machine, true)
  }

  function breakSomething(fault: VerifierFault, pick: number, ms: number): void {
    const alive = all.filter(({ machine }) => machine.isAlive)
    const verifier = alive[pick % alive.length]
    if (verifier === undefined) return
    const { machine, connection } = verifier
    const untilMs = time.nowMs + ms
    if (fault === 'pause') {
      const longerMs = Math.max(0, untilMs - Math.max(time.nowMs, machine.wakesMs))
      machine.wakesMs = Math.max(machine.wakesMs, untilMs)
      machine.timersFirst = chance.random() < 0.5
      if (setting.clocks === 'asleep') machine.sleptMs += longerMs
      return
    }
    if (fault === 'kill') {
      machine.isAlive = false
      if (connection !== null)
        time.after(chance.travelling(), () => loseAtProcess(connection), connection.process.machine)
      start()
      return
    }
    if (connection === null) return
    if (fault === 'freeze what it receives' || fault === 'freeze both') connection.down.thawsMs = untilMs
    if (fault === 'freeze what it sends' || fault === 'freeze both') connection.up.thawsMs = untilMs
    if (fault === 'lose at the verifier') time.after(0, () => lose(verifier, connection, ms), machine)
    if (fault === 'move') time.after(0, () => lose(verifier, connection, 1), machine)
    if (fault === 'lose at the process') {
      time.after(0, () => loseAtProcess(connection), connection.process.machine)
      time.after(ms, () => lose(verifier, connection, 5), machine)
    }
  }

  function validateEverywhere(tokens: readonly Known[]): void {
    // The second one finds what the first has stored.
    for (const verifier of all)
      for (const token of tokens)
        for (const ms of [0, 40])
          time.after(ms, () => time.watch(validate(verifier, token)), verifier.machine)
  }

  async function validate({ core }: Verifier, known: Known): Promise<void> {
    const isAcknowledged = known.acknowledgedAt < history.step()
    const isOld = known.endedMs + LEASE_MS <= time.nowMs
    const key = Buffer.from(Buffer.from(known.digest).toString('hex'), 'hex').toString('latin1')
    tally.verified += 1
    if (isAcknowledged) tally.afterAcknowledgement += 1
    if (isAcknowledged && core.lease.holds()) tally.afterAcknowledgementWithLease += 1
    const hit = core.hit(key)
    if (hit !== null) tally.hits += 1
    try {
      const isAccepted = hit !== null || (await lookUp(core, key, known.digest))
      if (isAccepted) {
        assert.ok(!isAcknowledged, 'accepted by a verifier after the acknowledgement')
        assert.ok(!isOld, 'accepted by a verifier a second after the change')
        return
      }
      const mayHaveExpired = known.token.expiresAtMs !== null
      assert.ok(known.endedMs <= time.nowMs || mayHaveExpired, 'refused by a verifier without a reason')
    } catch (error) {
      if (!UNAVAILABLE.some((kind) => error instanceof kind)) throw error
    }
  }

  async function lookUp(core: VerifierCore, key: string, digest: string): Promise<boolean> {
    const found = await core.find(key, digest, null)
    if (found !== undefined) return found !== null
    const [process] = alive()
    if (process === undefined) throw new VerifierUnavailable('There is no instance.')
    return introspect(process, digest)
  }

  async function introspect({ service }: Process, digest: string): Promise<boolean> {
    try {
      await service.authenticate(digest, DEADLINE, VERIFIER)
      return true
    } catch (error) {
      if (error instanceof InvalidToken) return false
      throw error
    }
  }
}
