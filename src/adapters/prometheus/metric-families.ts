import { type Metric, Registry } from 'prom-client'
import type { MetricFamily } from '../../application/ports/metrics.ts'

/** Formats the families in Prometheus' text format, with its media type. */
export async function exposition(
  families: readonly MetricFamily[],
): Promise<{ readonly text: string; readonly contentType: string }> {
  const metrics = new Registry()
  for (const family of families) {
    // The library itself registers aggregated metrics in this way.
    metrics.registerMetric({ ...family, get: () => family } as unknown as Metric)
  }
  return { text: await metrics.metrics(), contentType: metrics.contentType }
}

/** Returns the current values of the metrics. */
export async function metricFamilies(metrics: Registry): Promise<readonly MetricFamily[]> {
  return (await metrics.getMetricsAsJSON()) as unknown as readonly MetricFamily[]
}
