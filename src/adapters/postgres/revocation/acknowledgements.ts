import type { Clock } from '../../../lib/clock.ts'
import { LEASE_MS } from './lease.ts'

/** Knows when every instance obeys what this one has committed. */
export interface Acknowledgements {
  /** Resolves when every instance obeys all that was committed before the call, `LEASE_MS` later at the latest. */
  settled(): Promise<void>
  /** This instance's link is up: from here on it hears of all others. */
  linked(): void
  /** The link is lost, and with it the list of instances. */
  unlinked(): void
  heardBeat(instance: string): void
  heardBye(instance: string): void
  /** The own ask came back. */
  heardEcho(n: number): void
  /** The statement of the own ask found the triggers as they were: what was committed before it has been announced. */
  verified(n: number): void
  heardSeen(instance: string, n: number): void
}

/** Whoever waits for the same ask, and the instances that have not obeyed it yet. */
interface Round {
  readonly done: readonly (() => void)[]
  readonly missing: Map<string, () => void>
}

/** Stands for this instance among those that a round waits for. */
const OWN = 'own'

/**
 * Acknowledgements by asking: one ask covers every change committed before it was sent. An instance that does not
 * answer is waited for until the lease has ended that its last heartbeat before the ask can have given.
 */
export function acknowledgements({
  clock,
  ask,
}: {
  readonly clock: Clock
  readonly ask: (n: number) => void
}): Acknowledgements {
  const lastBeatMs = new Map<string, number>()
  const rounds = new Map<number, Round>()
  let linkedMs = Infinity
  let asks = 0
  /** The last own ask that was verified. */
  let verifiedAsk = 0
  /** Sent, and not come back. */
  let pending: {
    readonly n: number
    readonly voidMs: number
    readonly done: readonly (() => void)[]
  } | null = null
  let gathering: (() => void)[] = []

  return {
    settled: () =>
      new Promise((resolve) => {
        const nowMs = clock.monotonicMs()
        // A lease that is used later than this is of a heartbeat sent after the commit.
        const callOff = clock.after(LEASE_MS, resolve)
        // Before, the list of instances may lack one whose last heartbeat this link was too young to hear.
        if (nowMs - linkedMs < LEASE_MS) return
        gathering.push(() => {
          callOff()
          resolve()
        })
        askForAll()
      }),

    linked() {
      linkedMs = clock.monotonicMs()
    },

    unlinked() {
      linkedMs = Infinity
      lastBeatMs.clear()
      // Whoever waits is released by the clock.
      pending = null
      gathering = []
    },

    heardBeat(instance) {
      lastBeatMs.set(instance, clock.monotonicMs())
    },

    heardBye(instance) {
      lastBeatMs.delete(instance)
      for (const n of [...rounds.keys()]) applied(n, instance)
    },

    heardEcho(n) {
      if (pending?.n !== n) return
      const round: Round = { done: pending.done, missing: new Map() }
      rounds.set(n, round)
      // An ask whose statement found the triggers changed is never verified: the clock ends that wait.
      if (verifiedAsk < n) round.missing.set(OWN, () => {})
      const nowMs = clock.monotonicMs()
      // Complete now: a heartbeat that committed before the ask has been heard before its echo.
      for (const [instance, beatMs] of lastBeatMs) {
        const endsMs = beatMs + LEASE_MS
        if (nowMs >= endsMs) lastBeatMs.delete(instance)
        else
          round.missing.set(
            instance,
            clock.after(endsMs - nowMs, () => applied(n, instance)),
          )
      }
      finish(n, round)
      pending = null
      askForAll()
    },

    verified(n) {
      verifiedAsk = n
      applied(n, OWN)
    },

    heardSeen(instance, n) {
      // What it obeyed before this ask it obeyed before the earlier ones, too.
      for (const earlier of [...rounds.keys()]) if (earlier <= n) applied(earlier, instance)
    },
  }

  function askForAll(): void {
    const nowMs = clock.monotonicMs()
    if (gathering.length === 0 || (pending !== null && nowMs < pending.voidMs)) return
    asks += 1
    pending = { n: asks, voidMs: nowMs + LEASE_MS, done: gathering }
    gathering = []
    ask(asks)
  }

  function applied(n: number, instance: string): void {
    const round = rounds.get(n)
    const callOff = round?.missing.get(instance)
    if (round === undefined || callOff === undefined) return
    callOff()
    round.missing.delete(instance)
    finish(n, round)
  }

  function finish(n: number, { done, missing }: Round): void {
    if (missing.size > 0) return
    rounds.delete(n)
    for (const release of done) release()
  }
}
