import type { Clock } from '../../lib/clock.ts'

/** A verifier that is asked to acknowledge. */
export interface LeaseHolder {
  /** When every lease that was granted to it has ended, by the monotonic clock. */
  readonly grantedUntilMs: number
  /** Asks it to acknowledge everything that was sent before. Never throws. */
  ask(n: number): void
  /** Its leases have ended before it acknowledged what it was asked at `askedMs`. */
  expired(askedMs: number): void
}

/** A change that waits for verifiers. */
interface Round {
  readonly n: number
  readonly askedMs: number
  /** The verifiers that are waited for. Each value cancels the timer that waits for the end of the lease. */
  readonly missing: Map<LeaseHolder, () => void>
  readonly done: () => void
}

/**
 * Delays the acknowledgement of each change until every verifier whose lease may last has acknowledged it, or the lease has
 * ended. The waits run in parallel.
 */
export class AcknowledgementRounds {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'after'>
  /** In the order of their numbers. */
  readonly #rounds = new Set<Round>()
  #last = 0

  constructor(clock: Pick<Clock, 'monotonicMs' | 'after'>) {
    this.#clock = clock
  }

  /** Asks the verifiers, and calls back when none uses a validation from before the call; at once when none may. */
  begin(holders: Iterable<LeaseHolder>, done: () => void): void {
    this.#last += 1
    const askedMs = this.#clock.monotonicMs()
    const round: Round = { n: this.#last, askedMs, missing: new Map(), done }
    for (const holder of holders) {
      const leftMs = holder.grantedUntilMs - askedMs
      if (leftMs <= 0) continue
      round.missing.set(
        holder,
        this.#clock.after(leftMs, () => {
          this.#drop(round, holder)
          holder.expired(askedMs)
        }),
      )
      holder.ask(round.n)
    }
    if (round.missing.size === 0) done()
    else this.#rounds.add(round)
  }

  /** Returns when the oldest ask was sent that the verifier has not acknowledged, or null. */
  oldestAskMs(holder: LeaseHolder): number | null {
    for (const { missing, askedMs } of this.#rounds) if (missing.has(holder)) return askedMs
    return null
  }

  /** The verifier has acknowledged asks up to `n`. */
  acknowledge(holder: LeaseHolder, n: number): void {
    for (const round of [...this.#rounds]) if (round.n <= n) this.#drop(round, holder)
  }

  #drop(round: Round, holder: LeaseHolder): void {
    round.missing.get(holder)?.()
    if (!round.missing.delete(holder) || round.missing.size > 0) return
    this.#rounds.delete(round)
    round.done()
  }
}
