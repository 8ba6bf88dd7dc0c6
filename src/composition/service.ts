import type { Lines } from '../adapters/access-log/block-writer.ts'
import type { ObjectSchema } from '../adapters/http/routing/declared-route.ts'
import { checkAddress } from '../adapters/http/server/listen.ts'
import { type RunningServer, startServer } from '../adapters/http/server/server.ts'
import { isWorker, respondToPrimary } from '../adapters/node-cluster/worker.ts'
import { serviceSecrets } from '../adapters/node-crypto/service-secrets.ts'
import { openTelemetryTracing } from '../adapters/opentelemetry/tracing.ts'
import type { SamplingTimes } from '../adapters/ops/samples.ts'
import { instrumentedUseCases } from '../adapters/prometheus/instrumented.ts'
import { serviceMetrics } from '../adapters/prometheus/service-metrics.ts'
import { systemClock } from '../adapters/system-clock/clock.ts'
import type { Configuration } from '../application/configuration.ts'
import { PRUNING_TIMES, type Prunable, type PruningTimes, startPruning } from '../application/jobs/pruning.ts'
import { debouncedReadiness } from '../application/jobs/readiness.ts'
import { createUsageBuffer, type UsageBuffer } from '../application/login-tokens/usage-buffer.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { Database, OpenDatabase } from '../application/ports/database.ts'
import type { Invalidations } from '../application/ports/invalidations.ts'
import type { Log } from '../application/ports/log.ts'
import type { CollectMetrics, MetricFamily } from '../application/ports/metrics.ts'
import type { Ports } from '../application/ports/ports.ts'
import { createUseCases, type UseCases } from '../application/use-cases/use-cases.ts'
import { accessLogMode, createAuditLog, openAccessLog } from './logs.ts'
import { checkMetricsAddress, startMetricsServer } from './metrics-server.ts'
import { openOps } from './ops.ts'
import { type AdapterOverrides, createPorts } from './ports.ts'
import { postgresDatabase } from './postgres-database.ts'
import { checkDatabase, readinessReport } from './readiness-report.ts'
import { type RoutesOptions, routeTable } from './route-table.ts'

/** The options of a service. */
export interface ServiceOptions<Me extends ObjectSchema = ObjectSchema> extends RoutesOptions<Me> {
  /** The log of the service. */
  readonly log: Log
  /** The database of customers and tokens. Default: PostgreSQL. */
  readonly database?: Database
  /** Adapters that replace the default ones. */
  readonly adapters?: AdapterOverrides
  /** The output of the access log. Default: standard output. */
  readonly accessLines?: Lines
  /** The output of the audit log when `AUDIT_LOG` names no file. Default: standard output. */
  readonly auditLines?: Pick<Lines, 'write'>
  /** The schedule of pruning. Default: hourly. */
  readonly pruningTimes?: PruningTimes
  /** The interval of the samples for the operator's page. Default: five seconds. */
  readonly samplingTimes?: SamplingTimes | undefined
}

/** The settings that a running service can reload. */
export type ReloadableSettings = Pick<Configuration, 'serviceTokens' | 'logLevel'>

/** A service that accepts requests. */
export interface Service {
  readonly url: string
  readonly database: OpenDatabase
  readonly useCases: UseCases
  readonly invalidations: Invalidations
  readonly audit: AuditLog
  /** Reads the metrics. */
  readonly collectMetrics: CollectMetrics
  /** Applies these settings to all later requests. Does not change the level of `log`: its creator does. */
  reload(settings: ReloadableSettings): void
  /** Drains the server and closes the database. `delay: false` skips the delay in which load balancers notice the drain. */
  stop(options: { readonly delay: boolean }): Promise<void>
}

/** Composes a service from the configured adapters and starts it. */
export async function startService<Me extends ObjectSchema>(options: ServiceOptions<Me>): Promise<Service> {
  const { configuration, log, accessLines, auditLines, pruningTimes = PRUNING_TIMES } = options
  const { database: kind = postgresDatabase, adapters = {}, version, samplingTimes: times } = options
  // Check the addresses before anything is created or started. For workers, the primary has checked the shared address.
  if (!isWorker) {
    await checkAddress(configuration)
    await checkMetricsAddress(configuration)
  }
  const audit = createAuditLog(configuration, auditLines)
  const { clock = systemClock } = adapters
  const metrics = serviceMetrics()
  const collectMetrics = isWorker ? collectFromAllWorkers(metrics.collect) : metrics.collect
  const context = { configuration, log, clock, onInvalidationLag: metrics.invalidationLag }
  const database = await kind.open('service', context).catch((error: unknown) => {
    audit.close()
    throw error
  })
  async function closeStores(): Promise<void> {
    await database.close()
    audit.close()
  }
  try {
    const tokens = serviceSecrets(configuration.serviceTokens)
    const stores = createPorts(database, {
      configuration,
      role: 'service',
      adapters: { serviceSecrets: tokens, ...adapters },
      audit,
      log,
      metrics,
    })
    const usage = openTokenUsage(configuration, stores, log)
    const ports: Ports = { ...stores, usage }
    const useCases = instrumentedUseCases(createUseCases(ports, configuration), metrics)
    const ops = openOps({ configuration, version, clock, collect: collectMetrics, times })
    const readiness = debouncedReadiness(() => checkDatabase(database), clock)
    const table = routeTable(options, useCases, {
      readiness: () => readinessReport(readiness, ports, server.draining()),
      url: () => configuration.publicUrl ?? server.url,
      collectMetrics,
      ops,
    })
    const access = openAccessLog(configuration, accessLines)
    const server: RunningServer = await startServer(table, useCases, log, access, configuration, {
      onEnded: metrics.requests.observe,
      tracing: openTelemetryTracing(options.version),
    })
    metrics.watch({ activeRequests: server.activeRequests })
    // With several workers, the primary serves the metrics of all.
    const listener = isWorker
      ? null
      : await startMetricsServer(collectMetrics, useCases, log, configuration).catch(
          async (error: unknown) => {
            await server.drain({ delayMs: 0, deadlineMs: 0 })
            throw error
          },
        )
    const stopSampling = ops?.start(log)
    process.on('exit', access.close)
    const pruning = startPruning(prunables(configuration, ports, database), pruningTimes, clock, log)
    return {
      url: configuration.publicUrl ?? server.url,
      database,
      useCases,
      invalidations: ports.invalidations,
      audit,
      collectMetrics,
      reload({ serviceTokens, logLevel }) {
        tokens.rotate(serviceTokens)
        access.setMode(accessLogMode(configuration, logLevel))
        audit.silence(logLevel === 'silent')
      },
      async stop({ delay }) {
        stopSampling?.()
        await server.drain({
          delayMs: delay ? configuration.drainDelayMs : 0,
          deadlineMs: configuration.drainDeadlineMs,
        })
        readiness.close()
        await listener?.close()
        access.close()
        process.off('exit', access.close)
        await pruning.stop()
        await usage.close()
        await closeStores()
      },
    }
  } catch (error) {
    await closeStores()
    throw error
  }
}

/** Collects the metrics of all workers, this one included, through the primary. */
function collectFromAllWorkers(own: CollectMetrics): CollectMetrics {
  const ask = respondToPrimary(own)
  return async () => (await ask('metrics')) as readonly MetricFamily[]
}

function openTokenUsage(
  { tokenLastUsed }: Configuration,
  { loginTokens, clock }: Ports,
  log: Log,
): UsageBuffer {
  return tokenLastUsed ? createUsageBuffer(loginTokens, clock, log) : { used() {}, close: async () => {} }
}

function prunables(
  { tokenRetentionMs }: Configuration,
  { loginTokens, clock }: Ports,
  { prunables: others = [] }: OpenDatabase,
): readonly Prunable[] {
  return [
    {
      name: 'login_tokens',
      prune: (limit, timeoutMs) => loginTokens.prune(clock.nowMs() - tokenRetentionMs, limit, timeoutMs),
    },
    ...others,
  ]
}
