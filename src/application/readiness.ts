import type { Clock } from './ports/clock.ts'

/** What one look at the database found. */
export interface Look {
  /** Whether it answered in time. */
  readonly reachable: boolean
  /** Whether it has every migration that this code needs. */
  readonly current: boolean
  /** By name, whether each further condition holds without which requests fail; left out where there are none. */
  readonly checks?: Readonly<Record<string, boolean>>
}

/** Whether requests would be served, told so that it does not flap. */
export interface Readiness {
  /** Looks once; whoever asks meanwhile gets the same. */
  ask(): Promise<{ readonly ready: boolean; readonly look: Look }>
  /** Looks no more by itself. */
  close(): void
}

/** For so long looks must find the other state, and no look the old one, before it is told. */
const HOLD_MS = 900
/** Until then it looks by itself, however seldom anybody asks. */
const AGAIN_MS = 250

/**
 * Readiness that follows the looks once they have agreed for about a second: a database that comes and goes takes no
 * instance out of a balancer and back again with each turn. The first look that finds all well is believed at once.
 */
export function steadyReadiness(look: () => Promise<Look>, clock: Clock): Readiness {
  let wasReady = false
  let ready = false
  let contrarySinceMs: number | null = null
  let looking: Promise<Look> | null = null
  let callOff = () => {}

  return {
    async ask() {
      const found = await lookOnce()
      return { ready, look: found }
    },
    close: () => callOff(),
  }

  function lookOnce(): Promise<Look> {
    looking ??= lookNow().finally(() => {
      looking = null
    })
    return looking
  }

  async function lookNow(): Promise<Look> {
    callOff()
    const beganMs = clock.monotonicMs()
    const found = await look()
    weigh(canServe(found), beganMs)
    return found
  }

  function weigh(isWell: boolean, beganMs: number): void {
    if (isWell === ready) contrarySinceMs = null
    else if (!wasReady) {
      ready = true
      wasReady = true
    } else {
      contrarySinceMs ??= beganMs
      if (clock.monotonicMs() - contrarySinceMs >= HOLD_MS) {
        ready = isWell
        contrarySinceMs = null
      } else callOff = clock.after(AGAIN_MS, () => void lookOnce())
    }
  }
}

/** Whether requests would be served as a look found the database. */
export function canServe({ reachable, current, checks = {} }: Look): boolean {
  return reachable && current && Object.values(checks).every(Boolean)
}
