import type { Clock } from '../../../lib/clock.ts'
import { LEASE_MS } from './lease.ts'

/** Waits until every instance has applied what this one has committed. */
export interface Acknowledgements {
  /** Resolves when every instance has applied all changes committed before the call, after `LEASE_MS` at the latest. */
  settled(): Promise<void>
  /** The listener connection is up: from now on this instance receives the messages of all others. */
  linked(): void
  /** The listener connection is lost: the list of instances is no longer complete. */
  unlinked(): void
  /** A heartbeat of another instance was received. */
  heardBeat(instance: string): void
  /** Another instance has stopped serving. */
  heardBye(instance: string): void
  /** This instance's ask `n` was received back. */
  heardEcho(n: number): void
  /** The statement of ask `n` found the triggers unchanged: every change committed before it has been published. */
  verified(n: number): void
  /** Another instance has acknowledged ask `n`. */
  heardSeen(instance: string, n: number): void
}

/** The callers that wait for one ask, and the instances that have not acknowledged it. */
interface Round {
  readonly done: readonly (() => void)[]
  readonly missing: Map<string, () => void>
}

/** The name of this instance among those that a round waits for. */
const OWN = 'own'

/**
 * Collects acknowledgements: one ask covers every change committed before it was sent. An instance that does not
 * acknowledge is waited for until the lease of its last heartbeat before the ask has expired.
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
  /** The last ask that was verified. */
  let verifiedAsk = 0
  /** The ask that was sent and not received back. */
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
        // A lease that is valid after this belongs to a heartbeat sent after the commit.
        const cancel = clock.after(LEASE_MS, resolve)
        // Until then the list may lack an instance whose last heartbeat was sent before this connection listened.
        if (nowMs - linkedMs < LEASE_MS) return
        gathering.push(() => {
          cancel()
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
      // The timers release the waiting callers.
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
      // An ask whose statement found the triggers changed is never verified: the timer ends that wait.
      if (verifiedAsk < n) round.missing.set(OWN, () => {})
      const nowMs = clock.monotonicMs()
      // The list is complete now: a heartbeat that committed before the ask was received before its echo.
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
      // It has applied everything before this ask, and so everything before the earlier asks too.
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
    const cancel = round?.missing.get(instance)
    if (round === undefined || cancel === undefined) return
    cancel()
    round.missing.delete(instance)
    finish(n, round)
  }

  function finish(n: number, { done, missing }: Round): void {
    if (missing.size > 0) return
    rounds.delete(n)
    for (const release of done) release()
  }
}
