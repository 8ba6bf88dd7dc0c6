import type { Requester } from '../../../application/requester.ts'
import type { UseCases } from '../../../application/use-cases/use-cases.ts'
import { InsufficientServiceScope, InvalidServiceToken } from '../../../domain/errors.ts'
import { type Checks, NotReady } from '../errors.ts'
import { serviceToken } from '../request/bearer-token.ts'
import type { Route } from '../routing/declared-route.ts'
import { probe } from '../routing/route.ts'

/** Whether the service is ready, and the result of each check as a fixed word. */
export interface ReadinessReport {
  readonly ready: boolean
  readonly checks: Checks
}

/**
 * Returns the probes for orchestrators: `livez` does no I/O, `readyz` reports readiness. A client with a service
 * token with the scope `status` also gets the result of each check; other clients get only the status.
 */
export function probeRoutes(
  { verifyServiceToken }: UseCases,
  report: () => Promise<ReadinessReport>,
): readonly Route[] {
  return [
    probe('GET /livez', {
      summary: 'Liveness: whether the process responds',
      tags: ['Service'],
      handle: () => undefined,
    }),
    probe('GET /readyz', {
      summary: 'Readiness: whether the service can serve requests',
      tags: ['Service'],
      async handle({ headers: { authorization }, requester }) {
        const isTrusted = typeof authorization === 'string' && isService(authorization, requester)
        const { ready, checks } = await report()
        const visibleChecks = isTrusted ? checks : null
        if (!ready) throw new NotReady(visibleChecks)
        return visibleChecks === null ? undefined : { checks: visibleChecks }
      },
    }),
  ]

  function isService(authorization: string, requester: Requester): boolean {
    try {
      verifyServiceToken(serviceToken(authorization), ['status'], requester)
      return true
    } catch (error) {
      if (error instanceof InvalidServiceToken || error instanceof InsufficientServiceScope) return false
      throw error
    }
  }
}
