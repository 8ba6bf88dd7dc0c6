import type { ReadinessReport } from '../adapters/http/routes/probe-routes.ts'
import type { DatabaseStatus, Readiness } from '../application/jobs/readiness.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { Invalidations } from '../application/ports/invalidations.ts'
import { STORE_TIMEOUT_MS } from '../application/use-cases/use-cases.ts'

/** Checks once whether the database is reachable and its schema is current. Never throws. */
export async function checkDatabase(database: OpenDatabase): Promise<DatabaseStatus> {
  try {
    if (database.checkStatus !== undefined) return await database.checkStatus(STORE_TIMEOUT_MS)
    const isReady = await database.ready(STORE_TIMEOUT_MS)
    return { reachable: isReady, current: isReady }
  } catch {
    // A custom database may throw nevertheless, and no caller handles the rejection of a periodic check.
    return { reachable: false, current: false }
  }
}

/**
 * Returns the response of `/readyz`. Draining makes the service not ready immediately. `invalidations` has no influence:
 * without the listener connection, the service reads tokens from the database and still serves requests.
 */
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
