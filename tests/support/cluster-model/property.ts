import assert from 'node:assert/strict'
import fc from 'fast-check'
import { LEASE_MS } from '../../../src/adapters/postgres/revocation/lease.ts'
import { createChance } from './chance.ts'
import { createClients } from './clients.ts'
import { createDatabase } from './database.ts'
import { createHistory } from './history.ts'
import { createNetwork } from './network.ts'
import type { Parts } from './parts.ts'
import { createProcesses } from './processes.ts'
import type { Run, Setting } from './run.ts'
import { anyStep, createSteps, LONGEST_FAULT_MS, type Step } from './steps.ts'
import { type ClusterTally, newClusterTally } from './tally.ts'
import { timeline } from './timeline.ts'
import {
  createVerifiers,
  NO_VERIFIERS,
  VERIFIER_FAULTS,
  type VerifierFault,
  type VerifierTally,
} from './verifiers.ts'
import { createWriters } from './writers.ts'

const CUSTOMERS = ['c0', 'c1', 'c2']

const anySetting: fc.Arbitrary<Setting> = fc.record({
  instances: fc.integer({ min: 2, max: 4 }),
  warmMs: fc.constantFrom(0, 300, 1300, 1300),
  clocks: fc.constantFrom('steady', 'steady', 'asleep', 'set', 'standing'),
  versions: fc.constantFrom('same', 'same', 'same', 'same', 'previous', 'previous', 'broadcasting', 'next'),
  heals: fc.constantFrom(true, false, false, false),
  chance: fc.nat(),
})

/**
 * The property of several instances on one store, in simulated time. Listener connections freeze, lag and break;
 * heartbeats get lost; processes are paused, killed, started and stopped; clocks drift apart or stand still; strangers send
 * messages; some instances are of another version. No instance accepts a
 * token in a validation that begins after the acknowledgement of a change that ended the token, nor in one that begins
 * a second after any change, nor after the same instance has refused it. No instance refuses a token before it ended.
 * An acknowledgement takes at most one lease. After the faults end, instances use their caches again.
 */
export function clusterProperty(
  parts: Parts,
  tally: ClusterTally = newClusterTally(),
): fc.IAsyncPropertyWithHooks<[Setting, Step[]]> {
  return fc.asyncProperty(
    anySetting,
    fc.array(anyStep, { minLength: 8, maxLength: 30, size: 'max' }),
    (setting, steps) =>
      play({ parts, setting, time: timeline(), chance: createChance(setting.chance), tally }, steps),
  )
}

/** A step, and what breaks at a verifier. */
interface VerifierStep extends Step {
  readonly fault: VerifierFault | null
}

/**
 * The same property with up to four verifiers: other processes that cache by the leases of instances. They are paused, killed,
 * frozen, lose their connections and move to other instances. No verifier accepts a token in a verification that begins after
 * the acknowledgement, nor in one that begins a second after any change, and none refuses it before it ended.
 */
export function verifierProperty(
  parts: Parts,
  verifiers: VerifierTally,
): fc.IAsyncPropertyWithHooks<[Setting, number, VerifierStep[]]> {
  const anyFault = fc.option(fc.constantFrom(...VERIFIER_FAULTS), { freq: 2 })
  const step = fc.tuple(anyStep, anyFault).map(([step, fault]) => ({ ...step, fault }))
  return fc.asyncProperty(
    anySetting,
    fc.integer({ min: 1, max: 4 }),
    fc.array(step, { minLength: 8, maxLength: 30, size: 'max' }),
    (setting, count, steps) =>
      play(
        {
          parts,
          setting: { ...setting, heals: false },
          time: timeline(),
          chance: createChance(setting.chance),
          tally: newClusterTally(),
        },
        steps,
        { count, tally: verifiers },
      ),
  )
}

/**
 * The same on schedules that random steps rarely meet: a token is cached by a verifier, whose connection then freezes or
 * is lost just before a logout, or before its instance leaves; or the verifier moves, and a token that it looks up at
 * once is revoked before its first heartbeat on the new connection has a response.
 */
export function targetedVerifierProperty(
  parts: Parts,
  verifiers: VerifierTally,
): fc.IAsyncPropertyWithHooks<[number, VerifierStep[]]> {
  const fault = fc.constantFrom('freeze what it receives', 'freeze both', 'lose at the process')
  const any = fc.record({ on: fc.nat(1), beside: fc.nat(1), laterMs: fc.nat(250), fault })
  const lostLease = any.map(({ on, beside, laterMs, fault }) => [
    ...CACHED,
    { ...VALIDATED, afterMs: laterMs, on, fault },
    { ...VALIDATED, afterMs: 1, does: 'logout' as const, on: beside },
  ])
  const leaving = any.map(({ on, beside, laterMs, fault }) => [
    ...CACHED,
    { ...VALIDATED, afterMs: laterMs, on, fault },
    { ...VALIDATED, afterMs: 1, does: 'leave' as const, on: beside },
    { ...VALIDATED, afterMs: 100, does: 'logout' as const },
  ])
  const moving = any.map(({ on, laterMs }) => [
    ...CACHED,
    { ...VALIDATED, on, fault: 'move' as const },
    ...Array<VerifierStep>(8).fill({ ...VALIDATED, afterMs: 10 }),
    { ...VALIDATED, afterMs: laterMs % 50, does: 'revokes' as const },
  ])
  return fc.asyncProperty(fc.nat(), fc.oneof(lostLease, leaving, moving), (chance, steps: VerifierStep[]) =>
    play(
      {
        parts,
        setting: { instances: 2, warmMs: 1300, clocks: 'steady', versions: 'same', heals: false, chance },
        time: timeline(),
        chance: createChance(chance),
        tally: newClusterTally(),
      },
      steps,
      { count: 2, tally: verifiers },
    ),
  )
}

/** Validates one of the tokens that all runs begin with. */
const VALIDATED: VerifierStep = {
  afterMs: 0,
  does: 'validate',
  on: 0,
  pick: 3,
  ms: LONGEST_FAULT_MS,
  fault: null,
}
const CACHED: readonly VerifierStep[] = [VALIDATED, { ...VALIDATED, afterMs: 60 }]

async function play(
  run: Run,
  steps: readonly (Step & Partial<VerifierStep>)[],
  more: { readonly count: number; readonly tally: VerifierTally } | null = null,
): Promise<void> {
  const { setting, time, chance, tally } = run
  const history = createHistory(run)
  const network = createNetwork(run)
  const database = createDatabase(run, history, network)
  const processes = createProcesses(run, history, database, network)
  const verifiers = more === null ? NO_VERIFIERS : createVerifiers(run, history, processes, more.tally)
  const clients = createClients(run, history, database, processes, verifiers)
  const writers = createWriters(run, history, database, network, clients)
  const perform = createSteps(run, history, network, processes, clients, writers)

  for (const id of CUSTOMERS) {
    await database.addCustomer(id)
    await database.addToken(id, 'login')
    await database.addToken(id, 'bot')
  }
  for (let n = 0; n < setting.instances; n += 1) processes.start()
  for (let n = 0; n < (more?.count ?? 0); n += 1) verifiers.start()
  await time.run(setting.warmMs)
  for (const step of steps) {
    await time.run(step.afterMs)
    if (step.fault) verifiers.break(step.fault, step.on, step.ms)
    perform(step)
  }
  await time.run(LEASE_MS)
  // A row that was stored too late would still be cached.
  clients.validateEverywhere(history.known.slice(-8))
  await time.run(0)
  // Other versions use no cache, or wait for one.
  if (setting.heals && setting.versions === 'same') await heal()

  /** Ends all faults. After a while each instance caches again, and acknowledgements are quick again. */
  async function heal(): Promise<void> {
    chance.isCalm = true
    for (const process of processes.alive()) process.linkDelayMs = 0
    await time.run(2 * LONGEST_FAULT_MS + LEASE_MS)
    await database.reopen('c0')
    await database.addToken('c0', 'login')
    await time.run(20)
    const token = history.known.at(-1) ?? assert.fail()
    const hitsBefore = tally.hits
    for (let round = 0; round < 2; round += 1) {
      clients.validateEverywhere([token])
      await time.run(20)
    }
    assert.equal(tally.hits - hitsBefore, processes.alive().length, 'healed, but caches nothing')
    const earlyBefore = tally.acknowledgedEarly
    for (const process of processes.alive().slice(0, 1)) time.watch(clients.logOut(process, token))
    await time.run(20)
    assert.equal(tally.acknowledgedEarly - earlyBefore, 1, 'healed, but acknowledges late')
    await time.run(LEASE_MS)
    tally.healed += 1
  }
}
