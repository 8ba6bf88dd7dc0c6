import type { ReadinessReport } from '../adapters/http/routes/probe-routes.ts'
import { settleWithin } from '../application/bounded-calls.ts'
import type { DatabaseStatus, Readiness } from '../application/jobs/readiness.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { Invalidations } from '../application/ports/invalidations.ts'
import { STORE_TIMEOUT_MS } from '../application/use-cases/use-cases.ts'
import type { Clock } from '../lib/clock.ts'

/** Checks once whether the database is reachable and its schema is current. Never throws, and waits little longer than a second. */
export async function checkDatabase(
  database: OpenDatabase,
  clock: Pick<Clock, 'after'>,
): Promise<DatabaseStatus> {
  try {
    return await settleWithin(checkStatus(database), STORE_TIMEOUT_MS, clock)
  } catch {
    // A custom database may throw or ignore its timeout nevertheless, and no caller handles the rejection of a periodic check.
    return { reachable: false, current: false }
  }
}

async function checkStatus(database: OpenDatabase): Promise<DatabaseStatus> {
  if (database.checkStatus !== undefined) return database.checkStatus(STORE_TIMEOUT_MS)
  const isReady = await database.ready(STORE_TIMEOUT_MS)
  return { reachable: isReady, current: isReady }
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

/** Whether the result of a check allows requests to be served as usual. `unknown` does not. */
export function isPassed(result: string): boolean {
  return result === 'ok' || result === 'no'
}
