import { Unavailable } from '../../../src/domain/errors.ts'
import { turn } from '../fakes.ts'

/** Whom something happens to: only while it is alive, and not before it wakes. */
export interface Sleeper {
  isAlive: boolean
  wakesMs: number
  /** When it wakes it meets its timers first, or what came in for it meanwhile. */
  timersFirst: boolean
}

/** Simulated time: events happen in the order of their moments, each when all that the one before began has settled. */
export interface Timeline {
  readonly nowMs: number
  /** Set by an event that may let somebody go on who waits for a promise. */
  wakes: boolean
  at(atMs: number, act: () => void, sleeper?: Sleeper | null, isTimer?: boolean): void
  after(ms: number, act: () => void, sleeper?: Sleeper | null, isTimer?: boolean): void
  /** Goes on beside what happens; its failure ends the run, unless it is that the store could not be reached. */
  watch(doing: Promise<unknown>): void
  /** Lets time pass; rejects with the first failure of what is watched. */
  run(forMs: number): Promise<void>
}

interface Event {
  readonly atMs: number
  readonly order: number
  readonly sleeper: Sleeper | null
  readonly isTimer: boolean
  readonly act: () => void
}

export function timeline(): Timeline {
  /** The next one last. */
  const events: Event[] = []
  let orders = 0
  let failure: unknown = null
  const time = {
    nowMs: 0,
    wakes: false,

    at(atMs: number, act: () => void, sleeper: Sleeper | null = null, isTimer = false): void {
      orders += 1
      insert({ atMs: Math.max(atMs, time.nowMs), order: orders, sleeper, isTimer, act })
    },

    after(ms: number, act: () => void, sleeper: Sleeper | null = null, isTimer = false): void {
      time.at(time.nowMs + ms, act, sleeper, isTimer)
    },

    watch(doing: Promise<unknown>): void {
      time.wakes = true
      doing.catch((error: unknown) => {
        if (!(error instanceof Unavailable)) failure ??= error
      })
    },

    async run(forMs: number): Promise<void> {
      const endMs = time.nowMs + forMs
      if (time.wakes) await settle()
      for (let event = events.at(-1); event !== undefined && event.atMs <= endMs; event = events.at(-1)) {
        events.pop()
        time.nowMs = event.atMs
        const { sleeper } = event
        if (sleeper !== null && time.nowMs < sleeper.wakesMs) insert(afterWaking(event, sleeper))
        else if (sleeper === null || sleeper.isAlive) {
          event.act()
          // Most events wake nobody who waits.
          if (time.wakes) await settle()
        }
      }
      time.nowMs = endMs
      await settle()
    },
  }
  return time

  async function settle(): Promise<void> {
    time.wakes = false
    await turn()
    if (failure !== null) throw failure
  }

  function insert(event: Event): void {
    let from = 0
    let to = events.length
    while (from < to) {
      const middle = (from + to) >> 1
      const other = events[middle]
      if (other && (other.atMs - event.atMs || other.order - event.order) > 0) from = middle + 1
      else to = middle
    }
    events.splice(from, 0, event)
  }
}

function afterWaking(event: Event, { wakesMs, timersFirst }: Sleeper): Event {
  const shift = event.isTimer ? (timersFirst ? -1e9 : 1e9) : 0
  return { ...event, atMs: wakesMs, order: event.order + shift }
}
