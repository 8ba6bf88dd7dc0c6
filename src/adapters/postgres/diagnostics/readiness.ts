import type { DatabasePool } from '../connection/pool.ts'
import type { Session } from '../connection/session.ts'
import { APPLIED_MIGRATIONS, knownMigrations } from '../migration-set.ts'
import { FIND_PROBLEMS, SERVICE_CHECKS } from './service-checks.ts'

/** Whether requests can be served from the database now. */
export interface PostgresReadiness {
  /**
   * Returns whether the database responds within `timeoutMs` milliseconds, whether it has every migration that this code
   * needs, and the result of each of `SERVICE_CHECKS`. Never rejects.
   */
  checkStatus(timeoutMs: number): Promise<{
    readonly reachable: boolean
    readonly current: boolean
    readonly checks: Readonly<Record<string, boolean>>
  }>
  /** Reports that a statement failed because the server's disk is full, which no read can see. */
  reportDiskFull(): void
}

/** The options of readiness. */
export interface ReadinessOptions {
  /** A monotonic clock in milliseconds; `performance.now` by default. */
  readonly nowMs?: () => number
  /** Called with the problems, in sentences for the operator, when they differ from those of the previous check. */
  readonly onProblems?: (sentences: string) => void
}

/** After a write failed because the disk is full, the database counts as not writable for this duration. */
const DISK_FULL_MS = 30_000

/**
 * Checks the readiness of a pool's database. A schema that is newer than this code is ready: during the roll-out of a new
 * version, the older instances continue to serve.
 */
export function postgresReadiness(
  pool: DatabasePool,
  { nowMs = () => performance.now(), onProblems = () => {} }: ReadinessOptions = {},
): PostgresReadiness {
  const needed = knownMigrations()
  // Awaited in `isCurrent`, which treats a failure as not current.
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
    reportDiskFull() {
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
