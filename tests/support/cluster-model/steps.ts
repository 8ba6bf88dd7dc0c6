import fc from 'fast-check'
import type { Clients } from './clients.ts'
import { createFaults, FAULTS, type Fault, MOST_INSTANCES } from './faults.ts'
import { type History, isLoginOf } from './history.ts'
import type { Network } from './network.ts'
import type { Processes } from './processes.ts'
import type { Run } from './run.ts'
import type { Writers } from './writers.ts'

const CLIENT_STEPS = ['validate', 'logout', 'login', 'disable'] as const
const WRITER_STEPS = [
  'revokes',
  'disables',
  'disables slowly',
  'deletes',
  'renames',
  'revokes many',
  'restores',
] as const
export const LONGEST_FAULT_MS = 2500

/** One event, `afterMs` after the one before. */
export interface Step {
  readonly afterMs: number
  readonly does: (typeof CLIENT_STEPS)[number] | (typeof WRITER_STEPS)[number] | Fault
  /** Selects the instance, the token and the duration. Each step uses what it needs. */
  readonly on: number
  readonly pick: number
  readonly ms: number
}

export const anyStep: fc.Arbitrary<Step> = fc.record({
  afterMs: fc.constantFrom(0, 0, 1, 5, 20, 60, 150, 300, 700),
  does: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...CLIENT_STEPS) },
    { weight: 1, arbitrary: fc.constantFrom(...WRITER_STEPS) },
    { weight: 4, arbitrary: fc.constantFrom(...FAULTS) },
  ),
  on: fc.nat(MOST_INSTANCES),
  pick: fc.nat(30),
  ms: fc.constantFrom(5, 50, 200, 500, 900, 1050, 1300, LONGEST_FAULT_MS),
})

/** Returns a function that performs a step. */
export function createSteps(
  run: Run,
  { known }: History,
  network: Network,
  processes: Processes,
  clients: Clients,
  writers: Writers,
): (step: Step) => void {
  const { time } = run
  const breakSomething = createFaults(run, network, processes)

  return function perform({ does, on, pick, ms }) {
    const alive = processes.alive()
    const process = alive[on % alive.length]
    // Mostly one of the newest tokens, which may still be valid.
    const token = known[pick % 3 === 0 ? pick % known.length : known.length - 1 - (pick % 4)]
    const next = alive[(on + 1) % alive.length]
    if (process === undefined || next === undefined || token === undefined) return
    const { customerId } = token.token
    switch (does) {
      case 'validate':
        clients.validateEverywhere([token])
        break
      case 'logout':
        clients.validateEverywhere([token])
        time.watch(clients.logOut(process, token))
        break
      case 'login':
        clients.validateEverywhere(known.filter(isLoginOf(customerId)))
        time.watch(clients.logIn(process, customerId))
        break
      case 'disable':
        clients.validateEverywhere([token])
        time.watch(clients.disable(process, customerId))
        break
      case 'disable triggers':
        breakSomething(does, process, ms)
        // No trigger publishes a revocation between the disabling and the next heartbeat.
        clients.validateEverywhere([token])
        time.watch(clients.logOut(process, token))
        break
      case 'reopen and freeze link':
        breakSomething(does, process, ms)
        // Its new connection grants a lease before it freezes, perhaps not yet known to others.
        time.after(60, () => clients.validateEverywhere([token]))
        time.after(150, () => time.watch(clients.logOut(next, token)))
        break
      case 'send as a stranger':
        // Like an attacker who keeps a revoked token usable on an instance that receives nothing.
        clients.validateEverywhere([token])
        breakSomething('freeze link', next, ms)
        time.watch(clients.logOut(process, token))
        for (const afterMs of [5, 50, 300]) time.after(afterMs, () => breakSomething(does, process, ms))
        break
      case 'revokes':
        writers.revoke([token])
        break
      case 'revokes many':
        writers.revoke(known)
        break
      case 'restores':
        writers.restore([token])
        break
      case 'disables':
        writers.disable(customerId)
        break
      case 'disables slowly':
        writers.disableSlowly(customerId)
        break
      case 'deletes':
        writers.delete(customerId)
        break
      case 'renames':
        writers.rename(customerId)
        break
      default:
        breakSomething(does, process, ms)
        break
    }
  }
}
