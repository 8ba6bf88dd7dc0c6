import type { DatabasePool } from '../connection/pool.ts'
import type { Session } from '../connection/session.ts'
import { APPLIED_MIGRATIONS, knownMigrations } from '../migrations.ts'
import { FIND_PROBLEMS, SERVICE_CHECKS } from './service-checks.ts'

/** Whether requests can be served from the database now. */
export interface Readiness {
  /**
   * Whether the database answers within `waitMs`, has every migration that this code needs, and which of the conditions
   * of `SERVICE_CHECKS` it fails; never throws.
   */
  checkStatus(timeoutMs: number): Promise<{
    readonly reachable: boolean
    readonly current: boolean
    readonly checks: Readonly<Record<string, boolean>>
  }>
  /** Reports that a statement failed because the server's disk is full, which no read can see. */
  diskFull(): void
}

/** What readiness may be given. */
export interface ReadinessOptions {
  /** A monotonic clock in milliseconds; `performance.now` by default. */
  readonly nowMs?: () => number
  /** Receives the problems, in sentences for the operator, whenever a look finds others than the look before. */
  readonly onProblems?: (sentences: string) => void
}

/** After a write failed for want of room, the database counts as not writable for this duration. */
const DISK_FULL_MS = 30_000

/**
 * Readiness of a pool's database. A schema with more than this code knows is ready: while a newer version is rolled
 * out, the older instances go on serving.
 */
export function postgresReadiness(
  pool: DatabasePool,
  { nowMs = () => performance.now(), onProblems = () => {} }: ReadinessOptions = {},
): Readiness {
  const needed = knownMigrations()
  // Only to be awaited in `look`, where a failure is a result.
  needed.catch(() => {})
  let diskFullMs = -Infinity
  let reported = ''
  return {
    async checkStatus(timeoutMs) {
      try {
        return await pool.run(timeoutMs, async (session) => {
          const { rows } = await session.query(FIND_PROBLEMS, [])
          const failed = new Set(rows.map(({ name }) => name))
          if (nowMs() - diskFullMs < DISK_FULL_MS) failed.add('writable')
          report(rows.map(({ problem }) => problem).join(' '))
          return {
            reachable: true,
            current: await isCurrent(session),
            checks: Object.fromEntries(SERVICE_CHECKS.map(({ name }) => [name, !failed.has(name)])),
          }
        })
      } catch {
        return { reachable: false, current: false, checks: {} }
      }
    },
    diskFull() {
      diskFullMs = nowMs()
    },
  }

  function report(problems: string): void {
    if (problems !== reported && problems !== '') onProblems(problems)
    reported = problems
  }

  async function isCurrent(session: Session): Promise<boolean> {
    try {
      const { rows } = await session.query(APPLIED_MIGRATIONS, [])
      const applied = new Set(rows.map(({ name }) => name))
      return (await needed).every((name) => applied.has(name))
    } catch {
      return false
    }
  }
}
