import { type Metric, Registry } from 'prom-client'

/** One metric with all its values. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  /** What becomes of its values where those of several processes are put together. */
  readonly aggregator: 'sum' | 'first' | 'min' | 'max' | 'average' | 'omit'
  readonly values: readonly MetricValue[]
}

/** A value under its labels; of a histogram those of its buckets, its sum and its count, by `metricName`. */
export interface MetricValue {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** Reads every metric, of all processes that serve together. */
export type CollectMetrics = () => Promise<readonly MetricFamily[]>

/** The families in Prometheus' text format, with its media type. */
export async function exposition(
  families: readonly MetricFamily[],
): Promise<{ readonly text: string; readonly contentType: string }> {
  const batchedLookup = new Registry()
  for (const family of families) {
    // As the library itself registers what it has put together.
    batchedLookup.registerMetric({ ...family, get: () => family } as unknown as Metric)
  }
  return { text: await batchedLookup.metrics(), contentType: batchedLookup.contentType }
}

/** What a gathered holds now. */
export async function metricFamilies(batchedLookup: Registry): Promise<readonly MetricFamily[]> {
  return (await batchedLookup.getMetricsAsJSON()) as unknown as readonly MetricFamily[]
}
