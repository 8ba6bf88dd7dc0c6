import type { ReadinessReport } from './adapters/http/built-in-routes.ts'
import { STORE_WAIT_MS } from './application/latchkey.ts'
import type { Invalidations } from './application/ports/invalidations.ts'
import type { Look, Readiness } from './application/readiness.ts'
import type { OpenBackend } from './backend.ts'

/** Finds out once whether the database can be reached and has its schema; never throws. */
export async function lookAt({ look, ready }: OpenBackend): Promise<Look> {
  try {
    if (look !== undefined) return await look(STORE_WAIT_MS)
    const isReady = await ready(STORE_WAIT_MS)
    return { reachable: isReady, current: isReady }
  } catch {
    // A database of somebody else's may throw all the same, and nobody waits for a look that is made by itself.
    return { reachable: false, current: false }
  }
}

/** What `/readyz` tells. Draining counts at once. The link counts for nothing: without it validations are looked up, and requests served. */
export async function reportOf(
  readiness: Readiness,
  { invalidations }: { readonly invalidations: Invalidations },
  draining: boolean,
): Promise<ReadinessReport> {
  const { ready, look } = await readiness.ask()
  return {
    ready: ready && !draining,
    checks: {
      database: look.reachable ? 'ok' : 'unreachable',
      migrations: look.reachable ? (look.current ? 'ok' : 'pending') : 'unknown',
      ...Object.fromEntries(
        Object.entries(look.checks ?? {}).map(([name, holds]) => [name, holds ? 'ok' : 'failed']),
      ),
      invalidations: invalidations.isCurrent() ? 'ok' : 'suspended',
      draining: draining ? 'yes' : 'no',
    },
  }
}
