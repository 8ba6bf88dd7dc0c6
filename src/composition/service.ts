import { connectionLimit } from '../adapters/config/connection-limit.ts'
import type { ObjectSchema } from '../adapters/http/routing/declared-route.ts'
import { checkAddress } from '../adapters/http/server/listen.ts'
import { startServer } from '../adapters/http/server/server.ts'
import { isWorker } from '../adapters/node-cluster/worker.ts'
import { instrumentedUseCases } from '../adapters/prometheus/instrumented.ts'
import { serviceMetrics } from '../adapters/prometheus/service-metrics.ts'
import type { ReloadableSettings } from '../application/configuration.ts'
import { debouncedReadiness } from '../application/jobs/readiness.ts'
import type { AuditLog } from '../application/ports/audit-log.ts'
import type { OpenDatabase } from '../application/ports/database.ts'
import type { Invalidations } from '../application/ports/invalidations.ts'
import type { CollectMetrics } from '../application/ports/metrics.ts'
import { createUseCases, type UseCases } from '../application/use-cases/use-cases.ts'
import { askAllWorkers } from './all-workers.ts'
import { atExit } from './at-exit.ts'
import { connectionDrops } from './connection-drops.ts'
import { Lifecycle, type StopOptions } from './lifecycle.ts'
import { accessLogMode, failedRequestBudget, openAccessLog, untrustedProxyWarning } from './logs.ts'
import { checkMetricsAddress, startMetricsServer } from './metrics-server.ts'
import { observed } from './observed.ts'
import { checkDatabase, readinessReport } from './readiness-report.ts'
import { routeTable } from './route-table.ts'
import { startOnce, startWorker } from './service-hooks.ts'
import type { ServiceOptions } from './service-options.ts'
import { openServicePorts } from './service-ports.ts'
import { openVerifiers } from './verifiers.ts'
import { watchedConditions } from './watched-conditions.ts'

/** A service that accepts requests. */
export interface Service {
  /** The address for clients: `PUBLIC_URL`, by default the bound address. */
  readonly url: string
  /** The bound address, such as `http://127.0.0.1:3000`. */
  readonly address: string
  readonly database: OpenDatabase
  readonly useCases: UseCases
  readonly invalidations: Invalidations
  readonly audit: AuditLog
  /** Reads the metrics. */
  readonly collectMetrics: CollectMetrics
  /** Applies these settings to all later requests. Does not change the level of `log`: its creator does. */
  reload(settings: ReloadableSettings): void
  /** Drains the server, then stops the jobs and closes the database. A later call waits for the first one. */
  stop(options: StopOptions): Promise<void>
}

/** Composes a service from the configured adapters and starts it. After a failure, nothing is left running. */
export async function startService<Me extends ObjectSchema, Open extends OpenDatabase = OpenDatabase>(
  options: ServiceOptions<Me, Open>,
): Promise<Service> {
  // Before anything is created or started. For workers, the primary has checked the addresses.
  if (!isWorker) {
    await checkAddress(options.configuration)
    await checkMetricsAddress(options.configuration)
  }
  const lifecycle = new Lifecycle()
  try {
    return await start(options, lifecycle)
  } catch (error) {
    // The first error is the cause.
    await lifecycle.stop({ delay: false }).catch(() => {})
    throw error
  }
}

async function start<Me extends ObjectSchema, Open extends OpenDatabase>(
  given: ServiceOptions<Me, Open>,
  lifecycle: Lifecycle,
): Promise<Service> {
  const { options, tracing, ops } = observed(given)
  const { configuration, log, version } = options
  const metrics = serviceMetrics()
  const all = isWorker ? askAllWorkers({ collect: metrics.collect, events: () => ops?.events() ?? [] }) : null
  const collect = all?.collect ?? metrics.collect

  const { database, ports, audit, serviceTokens } = await openServicePorts(options, metrics, lifecycle)
  if (!isWorker) await startOnce(options, database, lifecycle)
  await startWorker(options, database, lifecycle)
  const onPasswordChange = options.onPasswordChange?.bind(options)
  const useCases = instrumentedUseCases(
    createUseCases(ports, { ...configuration, onPasswordChange }),
    metrics,
  )

  const readiness = debouncedReadiness(() => checkDatabase(database, ports.clock), ports.clock)
  lifecycle.onStop(readiness.close)
  const report = () => readinessReport(readiness, ports, lifecycle.isDraining)
  const verifiers = openVerifiers({ configuration, ports, useCases, log, audit, metrics })
  const publicUrl = () => configuration.publicUrl ?? lifecycle.address
  const table = routeTable(options, useCases, {
    readiness: report,
    url: publicUrl,
    database,
    collectMetrics: collect,
    ops,
    onReplaced: (method, route) => log.info('route.replaced', { method, route }),
    verifiers,
  })
  const access = openAccessLog(configuration, options.accessLines)
  lifecycle.onStop(access.close)
  lifecycle.onStop(atExit(access.close))
  const failures = failedRequestBudget(log)
  lifecycle.onStop(() => failures.close())
  // With several workers, the primary serves the metrics of all.
  if (!isWorker) {
    lifecycle.onStop((await startMetricsServer(collect, useCases, log, configuration)).close)
  }
  const settings = { ...configuration, maxConnections: connectionLimit(configuration) }
  const server = await startServer(table, useCases, log, access, settings, {
    onEnded: metrics.requests.observe,
    onDropped: connectionDrops({ log, clock: ports.clock, metrics, max: settings.maxConnections }),
    onError: options.onError,
    onUntrustedProxy: untrustedProxyWarning(log),
    admitsLine: (address) => failures.admits('request.failed', address),
    tracing,
  })
  lifecycle.serve(server, configuration)
  lifecycle.onStop(verifiers.leave)
  metrics.watch({
    activeRequests: server.activeRequests,
    openConnections: server.openConnections,
    ...watchedConditions(settings, version, database, report),
  })
  if (ops !== null) {
    const otherInstances = () => ports.invalidations.otherInstances?.()
    const readers = { readiness: report, otherInstances, verifiers: () => verifiers.hub.list() }
    lifecycle.onStop(ops.start({ collect, events: all?.events, ...readers }))
  }

  return {
    url: publicUrl(),
    address: server.url,
    database,
    useCases,
    invalidations: ports.invalidations,
    audit,
    collectMetrics: collect,
    reload(settings) {
      const { serviceTokens: reloaded, logLevel } = settings
      database.reload?.(settings)
      serviceTokens.rotate(reloaded)
      ops?.mark('Settings reloaded')
      verifiers.recheck()
      access.setMode(accessLogMode(configuration, logLevel))
      audit.silence(logLevel === 'silent')
    },
    stop: (how) => lifecycle.stop(how),
  }
}
