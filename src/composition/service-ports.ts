import { type RotatingServiceSecrets, serviceSecrets } from '../adapters/node-crypto/service-secrets.ts'
import type { RunningAuditLog } from '../adapters/pino/audit-log.ts'
import { instrumentedAuditLog } from '../adapters/prometheus/instrumented.ts'
import type { ServiceMetrics } from '../adapters/prometheus/service-metrics.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import { boundCalls } from '../application/bounded-calls.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { Ports } from '../application/ports/ports.ts'
import type { Lifecycle } from './lifecycle.ts'
import { createAuditLog } from './logs.ts'
import { createPorts } from './ports.ts'
import { postgresDatabase } from './postgres-database.ts'
import type { ServiceOptions } from './service-options.ts'
import { openTokenUsage, openUndoing, startTokenPruning } from './token-upkeep.ts'

/** The ports of a running service, and what it opened for them. */
interface ServicePorts {
  readonly database: OpenDatabase
  readonly ports: Ports
  readonly audit: RunningAuditLog
  /** The service tokens of the configuration, which a reload replaces. */
  readonly serviceTokens: RotatingServiceSecrets
}

/** Opens the audit log and the database, creates the ports on them, and starts the upkeep of tokens. */
export async function openServicePorts(
  {
    configuration,
    log,
    adapters = {},
    database: kind = postgresDatabase(),
    auditLines,
    pruningTimes,
  }: ServiceOptions,
  metrics: ServiceMetrics,
  lifecycle: Lifecycle,
): Promise<ServicePorts> {
  const { clock = systemClock } = adapters
  const audit = createAuditLog(configuration, adapters.audit, auditLines)
  lifecycle.onStop(audit.close)
  const context = { configuration, log, clock, onInvalidationLag: metrics.invalidationLag }
  const database = await kind.open('service', context)
  lifecycle.onStop(() => database.close())

  const serviceTokens = serviceSecrets(configuration.serviceTokens)
  const loginTokens = boundCalls(adapters.loginTokens ?? database.loginTokens, clock)
  const usage = openTokenUsage({ configuration, loginTokens, clock, custom: adapters.usage, log })
  lifecycle.onStop(usage.close)
  const stores = createPorts(database, {
    configuration,
    role: 'service',
    adapters: { ...adapters, usage, serviceSecrets: adapters.serviceSecrets ?? serviceTokens },
    audit: instrumentedAuditLog(audit, metrics.auditFailed),
    log,
    metrics,
  })
  const undoing = openUndoing(configuration, stores, loginTokens)
  lifecycle.onStop(undoing.close)
  const ports: Ports = { ...stores, loginTokens: undoing.loginTokens }
  const pruning = startTokenPruning({ configuration, ports, database, log, times: pruningTimes })
  lifecycle.onStop(pruning.stop)
  return { database, ports, audit, serviceTokens }
}
