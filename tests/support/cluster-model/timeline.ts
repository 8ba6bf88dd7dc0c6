import { TooManyUnknownTokens, Unavailable } from '../../../src/domain/errors.ts'
import { turn } from '../fakes.ts'

/** A target of events. Events reach it only while it is alive, and after it wakes. */
export interface Sleeper {
  isAlive: boolean
  wakesMs: number
  /** On waking, whether its timers run before its incoming messages. */
  timersFirst: boolean
}

/** Simulated time. Events run in the order of their times; each starts when the work of the one before has settled. */
export interface Timeline {
  readonly nowMs: number
  /** Set by an event that may resolve a promise. */
  wakes: boolean
  at(atMs: number, act: () => void, sleeper?: Sleeper | null, isTimer?: boolean): void
  after(ms: number, act: () => void, sleeper?: Sleeper | null, isTimer?: boolean): void
  /** Watches a task. Its failure ends the run, except for an unreachable store. */
  watch(doing: Promise<unknown>): void
  /** Advances time. Rejects with the first failure of a watched task. */
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
  /** Sorted: the next event is last. */
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
        // Both say nothing about a token.
        if (!(error instanceof Unavailable || error instanceof TooManyUnknownTokens)) failure ??= error
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
          // Most events resolve no promise.
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
