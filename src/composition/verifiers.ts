import type { VerifiersOptions } from '../adapters/http/verifiers/verifiers-route.ts'
import type { ServiceMetrics } from '../adapters/prometheus/service-metrics.ts'
import type { Configuration } from '../application/configuration.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Log } from '../application/ports/log.ts'
import type { Ports } from '../application/ports/ports.ts'
import type { UseCases } from '../application/use-cases/use-cases.ts'
import { VerifierHub } from '../application/verifiers/verifier-hub.ts'
import type { VerifierConnection } from '../application/verifiers/verifier-session.ts'

/** The verifiers of a service. */
export interface ServiceVerifiers extends VerifiersOptions {
  /** Disconnects the verifiers whose service token is no longer accepted. */
  recheck(): void
  /** Grants no lease any more. Resolves when no verifier uses a cached validation, and closes the connections. */
  leave(): Promise<void>
}

/** Creates the hub on the invalidations of the service. */
export function openVerifiers({
  configuration,
  ports,
  useCases,
  log,
  audit,
  metrics,
}: {
  readonly configuration: Configuration
  readonly ports: Pick<Ports, 'invalidations' | 'clock'>
  readonly useCases: UseCases
  readonly log: Log
  readonly audit: AuditLog
  readonly metrics: ServiceMetrics
}): ServiceVerifiers {
  const hub = new VerifierHub(ports.invalidations, ports.clock, {
    onConnected: (connection) => audit.record('verifier.connected', auditFields(connection)),
    onDisconnected(connection, reason) {
      metrics.verifierDisconnected(reason)
      if (reason !== 'draining') log.warn('verifier.disconnected', { detail: reason })
      try {
        audit.record('verifier.disconnected', { ...auditFields(connection), reason })
      } catch {
        log.error('verifier.disconnected', { detail: `${reason}; the audit log cannot be written.` })
      }
    },
  })
  metrics.watch({ verifiers: () => hub.size })
  return {
    hub,
    useCases,
    maxVerifiers: configuration.maxVerifiers,
    // A lookup is a use, so that no entry outlives the idle expiry after it.
    cacheTtlMs: Math.min(configuration.tokenCacheTtlMs, configuration.tokenIdleTtlMs ?? Infinity),
    clock: ports.clock,
    recheck: () => hub.disconnect((connection) => !connection.isAllowed(), 'revoked'),
    async leave() {
      await hub.leave()
      hub.disconnect(() => true, 'draining')
    },
  }
}

function auditFields({ requester: { requestId, address }, service }: VerifierConnection) {
  return { requestId, address, service }
}
