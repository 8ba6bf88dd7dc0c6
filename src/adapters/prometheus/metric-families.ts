import { type Metric, Registry } from 'prom-client'

/** One metric with all its values. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  /** How the values of several processes are aggregated. */
  readonly aggregator: 'sum' | 'first' | 'min' | 'max' | 'average' | 'omit'
  readonly values: readonly MetricValue[]
}

/** A value with its labels. For a histogram, `metricName` names a bucket, the sum or the count. */
export interface MetricValue {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** Reads every metric of all processes that serve together. */
export type CollectMetrics = () => Promise<readonly MetricFamily[]>

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
