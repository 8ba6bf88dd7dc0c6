import type { Clock } from '../../../lib/clock.ts'

/** The requests that were received back and wait for acknowledgements. */
export interface Rounds {
  /** Waits for each instance until it acknowledges or its lease has expired. Then releases the callers. */
  open(n: number, round: { readonly callers: readonly (() => void)[]; readonly leasesMs: Leases }): void
  /** The instance has applied every change before request `n`. */
  acknowledge(n: number, instance: string): void
  /** The instance has applied every change before request `n`, and so every change before an earlier request. */
  acknowledgeUpTo(n: number, instance: string): void
  /** No round waits for the instance any more. */
  leave(instance: string): void
}

/** The milliseconds that remain of each instance's lease. */
type Leases = ReadonlyMap<string, number>

/** The callers that wait for one request, and the instances that have not acknowledged it, each with its timer. */
interface Round {
  readonly callers: readonly (() => void)[]
  readonly missing: Map<string, () => void>
}

/** Creates an empty set of rounds. */
export function createRounds(clock: Clock): Rounds {
  const rounds = new Map<number, Round>()

  return {
    open(n, { callers, leasesMs }) {
      const round: Round = { callers, missing: new Map() }
      rounds.set(n, round)
      for (const [instance, leaseMs] of leasesMs) {
        const expire = () => acknowledge(n, instance)
        round.missing.set(instance, clock.after(leaseMs, expire))
      }
      finish(n, round)
    },
    acknowledge,
    acknowledgeUpTo(n, instance) {
      for (const earlier of [...rounds.keys()]) if (earlier <= n) acknowledge(earlier, instance)
    },
    leave(instance) {
      for (const n of [...rounds.keys()]) acknowledge(n, instance)
    },
  }

  function acknowledge(n: number, instance: string): void {
    const round = rounds.get(n)
    const cancel = round?.missing.get(instance)
    if (round === undefined || cancel === undefined) return
    cancel()
    round.missing.delete(instance)
    finish(n, round)
  }

  function finish(n: number, { callers, missing }: Round): void {
    if (missing.size > 0) return
    rounds.delete(n)
    for (const release of callers) release()
  }
}
