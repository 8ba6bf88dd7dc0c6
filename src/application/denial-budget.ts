import type { Clock } from '../lib/clock.ts'

/** The length of a window. */
const WINDOW_MS = 1000
/** Lines for the denials of one event and address in each window. */
const LINES_PER_SOURCE = 10
/** Lines for the denials of all addresses together: at once, and a second after that. */
const BURST = 1000
const REFILL_PER_SECOND = 20

/** Denials without a line of their own. */
export interface LeftOut<Event extends string = string> {
  readonly event: Event
  /** Null for the denials of several addresses. */
  readonly address: string | null
  readonly count: number
}

/** The denials of one event and address in the current window. */
interface Source<Event> {
  readonly event: Event
  readonly address: string
  lines: number
  leftOut: number
}

/**
 * Decides which denials get a log line, so that no client can fill a disk: ten for each event and address in each second,
 * and together no more than a token bucket of 1,000 lines with 20 more a second. The others are counted. At the end of the
 * second, `write` is called once for each event and address with such denials, and once for each event of the other
 * addresses. So the memory is bounded, too.
 */
export class DenialBudget<Event extends string = string> {
  readonly #clock: Clock
  readonly #write: (leftOut: LeftOut<Event>) => void
  readonly #sources = new Map<string, Source<Event>>()
  /** Denials of addresses that had no line in this window. */
  readonly #others = new Map<Event, number>()
  #cancelTimer: (() => void) | null = null
  #beganMs = Number.NEGATIVE_INFINITY
  #left = BURST

  /** `write` may throw if it cannot write: the denials are then counted in the next window. */
  constructor(clock: Clock, write: (leftOut: LeftOut<Event>) => void) {
    this.#clock = clock
    this.#write = write
  }

  /** Whether this denial gets a line. If not, it is counted. */
  admits(event: Event, address: string): boolean {
    if (this.#clock.monotonicMs() - this.#beganMs >= WINDOW_MS) this.#beginWindow()
    const key = `${event} ${address}`
    const source = this.#sources.get(key)
    if ((source?.lines ?? 0) < LINES_PER_SOURCE && this.#left >= 1) {
      this.#left -= 1
      if (source === undefined) this.#sources.set(key, { event, address, lines: 1, leftOut: 0 })
      else source.lines += 1
      return true
    }
    if (source === undefined) this.#leaveOut(event, 1)
    else source.leftOut += 1
    this.#cancelTimer ??= this.#clock.after(WINDOW_MS, () => this.#beginWindow())
    return false
  }

  /** Writes what is counted so far. */
  close(): void {
    this.#writeCounts()
  }

  #beginWindow(): void {
    this.#writeCounts()
    const nowMs = this.#clock.monotonicMs()
    this.#left = Math.min(BURST, this.#left + ((nowMs - this.#beganMs) / 1000) * REFILL_PER_SECOND)
    this.#beganMs = nowMs
  }

  #writeCounts(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    const counted = [...this.#sources.values()].map(({ leftOut, ...source }) => ({
      ...source,
      count: leftOut,
    }))
    const others = [...this.#others].map(([event, count]) => ({ event, address: null, count }))
    this.#sources.clear()
    this.#others.clear()
    for (const { event, address, count } of [...counted, ...others]) {
      if (count === 0) continue
      try {
        this.#write({ event, address, count })
      } catch {
        this.#leaveOut(event, count)
      }
    }
  }

  #leaveOut(event: Event, count: number): void {
    this.#others.set(event, (this.#others.get(event) ?? 0) + count)
  }
}
