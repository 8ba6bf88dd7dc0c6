import type { Clock } from '../../lib/clock.ts'

/** What one look at the database found. */
export interface DatabaseStatus {
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
  ask(): Promise<{ readonly ready: boolean; readonly checkStatus: DatabaseStatus }>
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
export function debouncedReadiness(checkStatus: () => Promise<DatabaseStatus>, clock: Clock): Readiness {
  let wasReady = false
  let ready = false
  let contrarySinceMs: number | null = null
  let looking: Promise<DatabaseStatus> | null = null
  let callOff = () => {}

  return {
    async ask() {
      const found = await lookOnce()
      return { ready, checkStatus: found }
    },
    close: () => callOff(),
  }

  function lookOnce(): Promise<DatabaseStatus> {
    looking ??= lookNow().finally(() => {
      looking = null
    })
    return looking
  }

  async function lookNow(): Promise<DatabaseStatus> {
    callOff()
    const beganMs = clock.monotonicMs()
    const found = await checkStatus()
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
export function canServe({ reachable, current, checks = {} }: DatabaseStatus): boolean {
  return reachable && current && Object.values(checks).every(Boolean)
}
