import type { Clock } from '../../lib/clock.ts'

/** An acknowledgement that takes longer is late; three in a minute are treated like none. */
const LATE_MS = 250
const FIRST_MS = 10_000
const LONGEST_MS = 640_000
const LATE_WINDOW_MS = 60_000
const MAX_LATE = 3
/** Verifiers that are remembered; the oldest is forgotten. */
const MAX_REMEMBERED = 1000

interface Offence {
  lateMs: number[]
  penaltyMs: number
  untilMs: number
}

/** The verifiers that delayed acknowledgements, by name. They get no lease for a time, which doubles. */
export class Penalties {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #offences = new Map<string, Offence>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** Whether the verifier gets no lease now. */
  has(name: string): boolean {
    return this.#clock.monotonicMs() < (this.#offences.get(name)?.untilMs ?? 0)
  }

  /** Whether an acknowledgement that was asked for at this time is late now; null for none. */
  isLate(askedMs: number | null): boolean {
    return askedMs !== null && this.#clock.monotonicMs() - askedMs > LATE_MS
  }

  /** The verifier has acknowledged. Returns whether it is now treated as hung. */
  addAcknowledgement(name: string, askedMs: number): boolean {
    if (!this.isLate(askedMs)) return false
    const offence = this.#offenceOf(name)
    const nowMs = this.#clock.monotonicMs()
    offence.lateMs = [...offence.lateMs.filter((atMs) => nowMs - atMs < LATE_WINDOW_MS), nowMs]
    return offence.lateMs.length >= MAX_LATE && this.addExpiry(name, askedMs)
  }

  /** Its lease ended first. Returns whether it is hung: one that had the time to acknowledge. */
  addExpiry(name: string, askedMs: number): boolean {
    if (!this.isLate(askedMs)) return false
    const offence = this.#offenceOf(name)
    offence.lateMs = []
    offence.penaltyMs = Math.min(LONGEST_MS, offence.penaltyMs * 2)
    offence.untilMs = this.#clock.monotonicMs() + offence.penaltyMs
    return true
  }

  #offenceOf(name: string): Offence {
    const known = this.#offences.get(name)
    const nowMs = this.#clock.monotonicMs()
    // A verifier that behaved for as long as the longest penalty starts again.
    const lastMs = known === undefined ? -Infinity : Math.max(known.untilMs, ...known.lateMs)
    const isOld = nowMs - lastMs > LONGEST_MS
    const offence = known === undefined || isOld ? { lateMs: [], penaltyMs: FIRST_MS / 2, untilMs: 0 } : known
    this.#offences.delete(name)
    if (this.#offences.size >= MAX_REMEMBERED)
      this.#offences.delete(this.#offences.keys().next().value as string)
    this.#offences.set(name, offence)
    return offence
  }
}
