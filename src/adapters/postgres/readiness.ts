import { APPLIED_MIGRATIONS, knownMigrations } from './migrations.ts'
import type { DatabasePool } from './pool.ts'

/** Whether requests can be served from the database now. */
export interface Readiness {
  /** Whether the database answers within `waitMs`, and has every migration that this code needs; never throws. */
  look(waitMs: number): Promise<{ readonly reachable: boolean; readonly current: boolean }>
}

/**
 * Readiness of a pool's database. A schema with more than this code knows is ready: while a newer version is rolled
 * out, the older instances go on serving.
 */
export function postgresReadiness(pool: DatabasePool): Readiness {
  const needed = knownMigrations()
  // Only to be awaited in `ready`, where a failure is an answer.
  needed.catch(() => {})
  return {
    async look(waitMs) {
      try {
        const names = await needed
        const { rows } = await pool.run(waitMs, (session) => session.query(APPLIED_MIGRATIONS, []))
        const applied = new Set(rows.map(({ name }) => name))
        return { reachable: true, current: names.every((name) => applied.has(name)) }
      } catch {
        return { reachable: false, current: false }
      }
    },
  }
}
