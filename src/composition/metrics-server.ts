import { metricsRoute } from '../adapters/http/routes/metrics-route.ts'
import { checkAddress } from '../adapters/http/server/listen.ts'
import { startServer } from '../adapters/http/server/server.ts'
import { exposition } from '../adapters/prometheus/metric-families.ts'
import type { Configuration } from '../application/configuration.ts'
import type { Log } from '../application/ports/log.ts'
import type { CollectMetrics } from '../application/ports/metrics.ts'
import type { UseCases } from '../application/use-cases/use-cases.ts'
import { OperatorError } from '../lib/operator-error.ts'

const DEADLINE_MS = 1000
const MAX_CONNECTIONS = 64

/** A separate listener for metrics. Does nothing when none is configured. */
export interface MetricsServer {
  close(): Promise<void>
}

/** Throws `MetricsAddressRefused` when the address of `METRICS_PORT` cannot be bound. */
export async function checkMetricsAddress({ metricsHost, metricsPort }: Configuration): Promise<void> {
  if (metricsPort === null) return
  try {
    await checkAddress({ host: metricsHost, port: metricsPort })
  } catch (error) {
    throw new MetricsAddressRefused(
      `Metrics: ${(error as Error).message}; set METRICS_HOST and METRICS_PORT to an address that is free here`,
    )
  }
}

class MetricsAddressRefused extends OperatorError {
  override readonly name = 'MetricsAddressRefused'
}

/** Serves only the metrics on `METRICS_HOST` and `METRICS_PORT`, without authentication. */
export async function startMetricsServer(
  collect: CollectMetrics,
  useCases: UseCases,
  log: Log,
  configuration: Configuration,
): Promise<MetricsServer> {
  const { metricsHost: host, metricsPort: port } = configuration
  if (port === null) return { close: async () => {} }
  const routes = [metricsRoute('none', async () => exposition(await collect()))]
  const noAccessLog = { everyResponse: false, responded() {} }
  const server = await startServer(routes, useCases, log, noAccessLog, {
    ...configuration,
    host,
    port,
    maxConnections: MAX_CONNECTIONS,
  })
  log.info('metrics.started', { address: server.url })
  return { close: () => server.drain({ delayMs: 0, deadlineMs: DEADLINE_MS }) }
}
