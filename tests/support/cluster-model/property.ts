import assert from 'node:assert/strict'
import fc from 'fast-check'
import { LEASE_MS } from '../../../src/adapters/postgres/revocation/lease.ts'
import { chanceOf } from './chance.ts'
import { clientsOf } from './clients.ts'
import { databaseOf } from './database.ts'
import { historyOf } from './history.ts'
import { networkOf } from './network.ts'
import type { Parts } from './parts.ts'
import { processesOf } from './processes.ts'
import type { Run, Setting } from './run.ts'
import { anyStep, LONGEST_FAULT_MS, type Step, stepsOf } from './steps.ts'
import { type ClusterTally, newClusterTally } from './tally.ts'
import { timeline } from './timeline.ts'
import { writersOf } from './writers.ts'

const CUSTOMERS = ['c0', 'c1', 'c2']

const anySetting: fc.Arbitrary<Setting> = fc.record({
  instances: fc.integer({ min: 2, max: 4 }),
  warmMs: fc.constantFrom(0, 300, 1300, 1300),
  clocks: fc.constantFrom('steady', 'asleep', 'set'),
  heals: fc.constantFrom(true, false, false, false),
  chance: fc.nat(),
})

/**
 * Several instances over one store, in simulated time: their links freeze, lag and break, their heartbeats get lost,
 * they are paused, killed, started and stopped, and clocks run apart. A validation that begins after the
 * acknowledgement of a change that ended its token is never accepted on any instance, nor one that begins a second
 * after the change, whoever made it, nor on one instance after it refused; none is refused before its token ended.
 * Each acknowledgement takes a lease at most, and what was healed answers from its cache.
 */
export function clusterProperty(
  parts: Parts,
  tally: ClusterTally = newClusterTally(),
): fc.IAsyncPropertyWithHooks<[Setting, Step[]]> {
  return fc.asyncProperty(
    anySetting,
    fc.array(anyStep, { minLength: 8, maxLength: 30, size: 'max' }),
    (setting, steps) =>
      play({ parts, setting, time: timeline(), chance: chanceOf(setting.chance), tally }, steps),
  )
}

async function play(run: Run, steps: readonly Step[]): Promise<void> {
  const { setting, time, chance, tally } = run
  const history = historyOf(run)
  const network = networkOf(run)
  const database = databaseOf(run, history, network)
  const processes = processesOf(run, history, database, network)
  const clients = clientsOf(run, history, database, processes)
  const writers = writersOf(run, history, database, network, clients)
  const perform = stepsOf(run, history, network, processes, clients, writers)

  for (const id of CUSTOMERS) {
    await database.addCustomer(id)
    await database.addToken(id, 'login')
    await database.addToken(id, 'bot')
  }
  for (let n = 0; n < setting.instances; n += 1) processes.start()
  await time.run(setting.warmMs)
  for (const step of steps) {
    await time.run(step.afterMs)
    perform(step)
  }
  await time.run(LEASE_MS)
  // Whatever was stored too late is still there.
  clients.validateEverywhere(history.known.slice(-8))
  await time.run(0)
  if (setting.heals) await heal()

  /** All faults end; after a while each instance keeps what it reads, and acknowledgements are quick again. */
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
    assert.equal(tally.hits - hitsBefore, processes.alive().length, 'healed, but keeps nothing')
    const earlyBefore = tally.acknowledgedEarly
    for (const process of processes.alive().slice(0, 1)) time.watch(clients.logOut(process, token))
    await time.run(20)
    assert.equal(tally.acknowledgedEarly - earlyBefore, 1, 'healed, but acknowledges late')
    await time.run(LEASE_MS)
    tally.healed += 1
  }
}
