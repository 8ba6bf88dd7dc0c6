import { Counter, Gauge, Registry } from 'prom-client'
import type { CollectMetrics } from '../../application/ports/metrics.ts'
import { metricOptions } from './definitions.ts'
import { metricFamilies } from './metric-families.ts'

/** The metrics of the primary, which its workers do not know. */
export interface PrimaryMetrics {
  /** A worker ended unexpectedly. */
  workerEnded(): void
  readonly collect: CollectMetrics
}

/** Returns metrics that begin at zero. `startedMs` is when the primary started: that of the instance. */
export function primaryMetrics(startedMs: number): PrimaryMetrics {
  const registry = new Registry()
  const restarts = new Counter({
    ...metricOptions('latchkey_worker_restarts_total'),
    registers: [registry],
  })
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since unix epoch in seconds.',
    aggregator: 'min',
    registers: [registry],
  }).set(Math.round(startedMs / 1000))
  return { workerEnded: () => restarts.inc(), collect: () => metricFamilies(registry) }
}
