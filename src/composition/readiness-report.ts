import type { ReadinessReport } from '../adapters/http/routes/built-in-routes.ts'
import type { DatabaseStatus, Readiness } from '../application/jobs/readiness.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { Invalidations } from '../application/ports/invalidations.ts'
import { STORE_TIMEOUT_MS } from '../application/use-cases/use-cases.ts'

/** Finds out once whether the database can be reached and has its schema; never throws. */
export async function checkDatabase({ checkStatus, ready }: OpenDatabase): Promise<DatabaseStatus> {
  try {
    if (checkStatus !== undefined) return await checkStatus(STORE_TIMEOUT_MS)
    const isReady = await ready(STORE_TIMEOUT_MS)
    return { reachable: isReady, current: isReady }
  } catch {
    // A database of somebody else's may throw all the same, and nobody waits for a look that is made by itself.
    return { reachable: false, current: false }
  }
}

/** What `/readyz` tells. Draining counts at once. The link counts for nothing: without it validations are looked up, and requests served. */
export async function readinessReport(
  readiness: Readiness,
  { invalidations }: { readonly invalidations: Invalidations },
  draining: boolean,
): Promise<ReadinessReport> {
  const { ready, checkStatus } = await readiness.ask()
  return {
    ready: ready && !draining,
    checks: {
      database: checkStatus.reachable ? 'ok' : 'unreachable',
      migrations: checkStatus.reachable ? (checkStatus.current ? 'ok' : 'pending') : 'unknown',
      ...Object.fromEntries(
        Object.entries(checkStatus.checks ?? {}).map(([name, holds]) => [name, holds ? 'ok' : 'failed']),
      ),
      invalidations: invalidations.isCurrent() ? 'ok' : 'suspended',
      draining: draining ? 'yes' : 'no',
    },
  }
}
