import type { Clock } from '../../lib/clock.ts'

/** The result of one check of the database. */
export interface DatabaseStatus {
  /** Whether it responded in time. */
  readonly reachable: boolean
  /** Whether it has every migration that this code needs. */
  readonly current: boolean
  /** Whether each further condition for serving requests holds, by name; left out when there are none. */
  readonly checks?: Readonly<Record<string, boolean>>
}

/** Debounced readiness: whether requests can be served. */
export interface Readiness {
  /** Checks the database once; concurrent calls share the check. Returns the debounced state and the result of the check. */
  ask(): Promise<{ readonly ready: boolean; readonly checkStatus: DatabaseStatus }>
  /** Stops repeating the check, also after one that is in progress. */
  close(): void
}

/** The state changes once every check has found the other state for this duration. */
const HOLD_MS = 900
/** Until then the check repeats at this interval. */
const RECHECK_MS = 250

/**
 * Debounced readiness: it changes once the checks have agreed for about a second. Thus a flapping database does not take
 * the instance out of a load balancer and back again each time. The first successful check counts at once.
 */
export function debouncedReadiness(checkStatus: () => Promise<DatabaseStatus>, clock: Clock): Readiness {
  let wasReady = false
  let ready = false
  let contrarySinceMs: number | null = null
  let pendingCheck: Promise<DatabaseStatus> | null = null
  let cancelRecheck = () => {}
  let isClosed = false

  return {
    async ask() {
      const found = await checkOnce()
      return { ready, checkStatus: found }
    },
    close() {
      isClosed = true
      cancelRecheck()
    },
  }

  function checkOnce(): Promise<DatabaseStatus> {
    pendingCheck ??= checkNow().finally(() => {
      pendingCheck = null
    })
    return pendingCheck
  }

  async function checkNow(): Promise<DatabaseStatus> {
    cancelRecheck()
    const beganMs = clock.monotonicMs()
    const found = await checkStatus()
    update(canServe(found), beganMs)
    return found
  }

  function update(isWell: boolean, beganMs: number): void {
    if (isWell === ready) contrarySinceMs = null
    else if (!wasReady) {
      ready = true
      wasReady = true
    } else {
      contrarySinceMs ??= beganMs
      if (clock.monotonicMs() - contrarySinceMs >= HOLD_MS) {
        ready = isWell
        contrarySinceMs = null
      } else if (!isClosed) cancelRecheck = clock.after(RECHECK_MS, () => void checkOnce())
    }
  }
}

/** Whether a database in this state can serve requests. */
export function canServe({ reachable, current, checks = {} }: DatabaseStatus): boolean {
  return reachable && current && Object.values(checks).every(Boolean)
}
