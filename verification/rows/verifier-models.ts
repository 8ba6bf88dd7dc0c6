import fc from 'fast-check'
import { PRODUCTION_PARTS } from '../../tests/support/cluster-model/parts.ts'
import { targetedVerifierProperty, verifierProperty } from '../../tests/support/cluster-model/property.ts'
import type { VerifierTally } from '../../tests/support/cluster-model/verifiers.ts'
import type { Mutant, Row, Trial } from '../row.ts'

const MUTANT_RUNS = 1500
/** Mutants get the same seed each time, because random runs would miss the rarest of them. */
const MUTANT_SEED = 7
/** The schedules that meet faults which random ones rarely do. */
const SHARE_OF_TARGETED_RUNS = 0.2
const HUB = 'src/application/verifiers/verifier-hub.ts'
const CORE = 'src/adapters/verifier/verifier-core.ts'
const LEASE = 'src/adapters/verifier/lease.ts'
const CACHE = 'src/adapters/verifier/verified-cache.ts'
const INSTANCE = 'src/adapters/postgres/revocation/instance.ts'

/** One for each rule of the protocol. */
const MUTANTS: readonly Mutant[] = [
  {
    name: 'the lease is counted from its arrival',
    file: LEASE,
    find: '[...sent, grantedMs]',
    replace: '[clock.monotonicMs(), clock.nowMs(), grantedMs]',
  },
  {
    name: 'a whole lease is granted instead of what is left',
    file: HUB,
    find: 'Math.floor(lease.leftMs)',
    replace: '800',
  },
  {
    name: 'the lease is not tested at a hit',
    file: CORE,
    find: '!this.lease.holds(monotonicMs, wallMs) || ',
    replace: '',
  },
  {
    name: 'the sleep of a machine is not detected',
    file: LEASE,
    find: 'return wallMs >= sentWallMs && wallMs - sentWallMs < leaseMs',
    replace: 'return true',
  },
  {
    name: 'a lease is granted without one',
    file: HUB,
    find: 'this.#invalidations.lease?.() ?? null',
    replace: '{ leftMs: 800, endMs: this.#clock.monotonicMs() + 1000 }',
  },
  {
    name: 'invalidations are forwarded after later leases',
    file: HUB,
    find: 'this.#forward(encodeInvalidation(invalidation))',
    replace: 'clock.after(30, () => this.#forward(encodeInvalidation(invalidation)))',
  },
  {
    name: 'a cleared cache is not forwarded',
    file: 'src/application/verifiers/invalidation-line.ts',
    find: "return 'forget'",
    replace: "return 'wait 0'",
  },
  {
    name: 'a marked lookup is stored',
    file: CACHE,
    find: 'if (this.#places.get(fill.digest) === fill) {',
    replace: '{',
  },
  {
    name: 'a customer marks no lookup',
    file: CACHE,
    find: '    for (const { digest } of this.#sent.values()) this.delete(digest)\n',
    replace: '',
  },
  {
    name: 'a lookup is joined without a lease',
    file: CORE,
    find: 'earlier?.untilMs === null && this.lease.holds()',
    replace: 'earlier?.untilMs === null',
  },
  {
    name: 'the cache survives a lost connection',
    file: CACHE,
    find: '    this.clear()\n',
    replace: '',
  },
  {
    name: 'acknowledges before it applies',
    file: CORE,
    find: "this.#cache.delete(Buffer.from(first, 'hex').toString('latin1'))",
    replace: "this.#clock.after(20, () => this.#cache.delete(Buffer.from(first, 'hex').toString('latin1')))",
  },
  {
    name: 'another instance is acknowledged without waiting for verifiers',
    file: INSTANCE,
    find: 'else settleVerifiers(() => acknowledge(message))',
    replace: 'else acknowledge(message)',
  },
  {
    name: 'its own ask does not wait for verifiers',
    file: INSTANCE,
    find: '    settleVerifiers,\n',
    replace: '',
  },
  {
    name: 'a lost connection has acknowledged',
    file: HUB,
    find: 'this.#lost.grantedUntilMs = Math.max(this.#lost.grantedUntilMs, session.grantedUntilMs)',
    replace: 'this.#rounds.acknowledge(session, Infinity)',
  },
  {
    name: 'half of a lease is waited for',
    file: HUB,
    find: 'Math.max(session.grantedUntilMs, lease.endMs)',
    replace: 'Math.max(session.grantedUntilMs, this.#clock.monotonicMs() + lease.leftMs / 2)',
  },
  {
    name: 'a lease is waited for without its margin',
    file: HUB,
    find: 'Math.max(session.grantedUntilMs, lease.endMs)',
    replace: 'Math.max(session.grantedUntilMs, this.#clock.monotonicMs() + lease.leftMs)',
  },
  {
    name: 'leaves without waiting for verifiers',
    file: HUB,
    find: 'return new Promise((resolve) => this.settle(resolve))',
    replace: 'return Promise.resolve()',
  },
  {
    name: 'a connection is registered after its first lines',
    file: HUB,
    find: 'this.#sessions.add(session)',
    replace: 'this.#clock.after(100, () => this.#sessions.add(session))',
  },
]

/** Revocations are exact on verifiers in other processes, in every order of events that a model explores. */
export const verifierModelRows: readonly Row[] = [
  {
    id: 'G16',
    promise: 'exact on verifiers in the model: none accepts a token in a call after an acknowledgement',
    sizes: { ci: 500, release: 250_000, mutant: MUTANT_RUNS },
    mutants: MUTANTS,
    async run(trial) {
      const tally: VerifierTally = {
        verified: 0,
        hits: 0,
        afterAcknowledgement: 0,
        afterAcknowledgementWithLease: 0,
      }
      const targeted = Math.round(trial.size * SHARE_OF_TARGETED_RUNS)
      if (!(await play(trial, targetedVerifierProperty(PRODUCTION_PARTS, tally), targeted))) return
      if (!(await play(trial, verifierProperty(PRODUCTION_PARTS, tally), trial.size - targeted))) return
      const { afterAcknowledgement, afterAcknowledgementWithLease, hits } = tally
      trial.note(
        `${trial.size} runs, ${afterAcknowledgement} verifications after an acknowledgement, 0 accepted; ${hits} hits`,
      )
      // A model without such events proves nothing.
      trial.require(
        Math.min(hits, afterAcknowledgementWithLease) > trial.size,
        () => `too little happened: ${JSON.stringify(tally)}`,
      )
    },
  },
]

/** Each run is a trial. Returns whether all passed. */
async function play<Ts>(
  trial: Trial,
  property: fc.IAsyncPropertyWithHooks<Ts>,
  runs: number,
): Promise<boolean> {
  const { failed, numRuns, seed, errorInstance } = await fc.check(property, {
    numRuns: runs,
    endOnFailure: true,
    ...(trial.size > MUTANT_RUNS ? {} : { seed: MUTANT_SEED }),
  })
  for (let run = 1; run <= numRuns; run++)
    trial.expect(
      !failed || run < numRuns,
      () => `${String(errorInstance).split('\n')[0]}: seed ${seed}, run ${run}`,
    )
  return !failed
}
